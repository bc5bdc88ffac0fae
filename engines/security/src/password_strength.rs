//! q132: password strength.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use zxcvbn::zxcvbn;

/// Maximum length of a password, in characters.
const MAX_PASSWORD: usize = 1_024;
/// Maximum number of user inputs, and of characters of each.
const MAX_INPUTS: usize = 100;
/// Least length that NIST SP 800-63B-4 (3.1.1.2) permits beside a second factor.
const SHORT: usize = 8;
/// Least length that it permits for a password as the only factor.
const ALONE: usize = 15;
/// Characters that the search considers.
const SEARCHED: usize = 100;

/// Input of the engine. Without `Debug`, which would write the password.
#[derive(Input)]
pub struct Input {
    password: String,
    user_inputs: Vec<String>,
    minimum_score: u8,
}

#[derive(Debug, Output)]
pub struct Output {
    score: u8,
    guesses_log10: f64,
    crack_times: BTreeMap<&'static str, String>,
    warning: Option<String>,
    suggestions: Vec<String>,
    accepted: bool,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let length = input.password.chars().count();
    if length > MAX_PASSWORD {
        return Err(Failure::too_large(format!(
            "password has {length} characters, at most {MAX_PASSWORD} are allowed"
        )));
    }
    let long = |text: &String| text.chars().count() > MAX_INPUTS;
    if input.user_inputs.len() > MAX_INPUTS || input.user_inputs.iter().any(long) {
        let message = format!("user_inputs may have {MAX_INPUTS} texts of {MAX_INPUTS} characters");
        return Err(Failure::too_large(message));
    }
    let words: Vec<&str> = input.user_inputs.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
    let entropy = zxcvbn(&input.password, &words);
    if length > SEARCHED {
        cx.warn(format!("truncated: only the first {SEARCHED} characters are searched; the estimate is a lower bound"));
    }
    let score = u8::from(entropy.score());
    let times = entropy.crack_times();
    let crack_times = BTreeMap::from([
        ("online_throttling_100_per_hour", times.online_throttling_100_per_hour().to_string()),
        ("online_no_throttling_10_per_second", times.online_no_throttling_10_per_second().to_string()),
        ("offline_slow_hashing_1e4_per_second", times.offline_slow_hashing_1e4_per_second().to_string()),
        ("offline_fast_hashing_1e10_per_second", times.offline_fast_hashing_1e10_per_second().to_string()),
    ]);
    let feedback = entropy.feedback();
    let mut suggestions: Vec<String> =
        feedback.into_iter().flat_map(|feedback| feedback.suggestions()).map(ToString::to_string).collect();
    let lower = input.password.to_lowercase();
    let named = words.iter().any(|word| word.chars().count() >= 4 && lower.contains(&word.to_lowercase()));
    if named {
        suggestions.push("Leave out names and words that belong to you or the service.".to_owned());
    }
    if length < SHORT {
        suggestions
            .push(format!("Use at least {SHORT} characters, and {ALONE} without a second factor (NIST SP 800-63B-4)."));
    } else if length < ALONE {
        cx.warn(format!("length: NIST SP 800-63B-4 asks for {ALONE} characters where the password is the only factor"));
    }
    Ok(Output {
        score,
        // An empty password has minus infinity.
        guesses_log10: entropy.guesses_log10().max(0.0),
        crack_times,
        warning: feedback.and_then(|feedback| feedback.warning()).map(|warning| warning.to_string()),
        suggestions,
        accepted: score >= input.minimum_score && length >= SHORT && !named,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_output_never_holds_the_password(password in "[a-zA-Z0-9!-/]{9,40}") {
            let input = Input { password: password.clone(), user_inputs: vec![password.clone()], minimum_score: 3 };
            let cx = Context::default();
            let output = format!("{:?}", run(input, &cx).unwrap());
            prop_assert!(!output.contains(&password));
            prop_assert!(!cx.into_warnings().join("").contains(&password));
        }
    }

    #[test]
    fn a_word_of_the_user_is_refused() {
        let input = |words: Vec<String>| Input {
            password: "Wendehals-Fernrohr-42".to_owned(),
            user_inputs: words,
            minimum_score: 3,
        };
        assert!(run(input(Vec::new()), &Context::default()).unwrap().accepted);
        assert!(!run(input(vec!["wendehals".to_owned()]), &Context::default()).unwrap().accepted);
    }
}
