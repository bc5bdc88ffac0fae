//! Check digits of numbers of persons and accounts.

/// The digits of a text.
pub(super) fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|letter| letter.to_digit(10)).collect()
}

/// Letters and digits in upper case.
fn compact(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_uppercase()).collect()
}

fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// All digits are the same: a placeholder.
fn uniform(digits: &[u32]) -> bool {
    digits.windows(2).all(|pair| matches!(pair, [a, b] if a == b))
}

/// ISO/IEC 7812: every second digit from the right is doubled.
pub(super) fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { *digit })
        .sum();
    sum.is_multiple_of(10)
}

/// A card number of a known issuer range.
pub(super) fn card(text: &str) -> bool {
    let digits = digits(text);
    let start = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let issuer = match digits.len() {
        13 | 19 => start(1) == 4 || start(1) == 6,
        14 => matches!(start(2), 36 | 38 | 39) || (300..=305).contains(&start(3)),
        15 => matches!(start(2), 34 | 37),
        16 => {
            start(1) == 4
                || (51..=55).contains(&start(2))
                || (2221..=2720).contains(&start(4))
                || start(1) == 6
                || (3528..=3589).contains(&start(4))
        }
        _ => false,
    };
    issuer && luhn(&digits) && !uniform(&digits)
}

/// ISO 13616: the number of the rearranged text is 1 modulo 97.
pub(super) fn iban(text: &str) -> bool {
    let compact = compact(text);
    let Some((head, tail)) = compact.split_at_checked(4) else { return false };
    (15..=34).contains(&compact.len()) && mod97(tail.chars().chain(head.chars())) == 1
}

fn mod97(letters: impl Iterator<Item = char>) -> u32 {
    letters.fold(0, |rest, letter| match letter.to_digit(36) {
        Some(value) if value < 10 => (rest * 10 + value) % 97,
        Some(value) => (rest * 100 + value) % 97,
        None => rest,
    })
}

/// Social Security number: no area 000, 666 or 9xx, no group 00, no serial 0000.
pub(super) fn ssn(text: &str) -> bool {
    let digits = digits(text);
    let number = |range: std::ops::Range<usize>| {
        digits.get(range).unwrap_or_default().iter().fold(0, |number, digit| number * 10 + digit)
    };
    let (area, group, serial) = (number(0..3), number(3..5), number(5..9));
    // 078-05-1120 was printed on sample cards.
    digits.len() == 9
        && area != 0
        && area != 666
        && area < 900
        && group != 0
        && serial != 0
        && !uniform(&digits)
        && (area, group, serial) != (78, 5, 1120)
}

/// NHS number: weights 10 to 2, modulo 11.
pub(super) fn nhs(text: &str) -> bool {
    let digits = digits(text);
    let check = 11 - weighted(&digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits.len() == 10 && !uniform(&digits) && digits.last() == Some(&(check % 11)) && check != 10
}

/// Verhoeff's check (1969), of the dihedral group of the pentagon.
pub(super) fn verhoeff(digits: &[u32]) -> bool {
    const PERMUTED: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let product = |a: u32, b: u32| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b) % 5 + 5,
        (false, true) => (a + 5 - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (at, digit)| {
        let turned = (0..at % 8).fold(*digit, |digit, _| PERMUTED.get(digit as usize).copied().unwrap_or(digit));
        product(check, turned)
    });
    check == 0
}

/// Aadhaar: twelve digits, the first from 2, no palindrome.
pub(super) fn aadhaar(text: &str) -> bool {
    let digits = digits(text);
    let palindrome = digits.iter().eq(digits.iter().rev());
    digits.len() == 12 && digits.first().is_some_and(|digit| *digit >= 2) && !palindrome && verhoeff(&digits)
}

/// Steuer-Identifikationsnummer: ISO 7064 MOD 11,10.
pub(super) fn german_tax(text: &str) -> bool {
    let digits = digits(text);
    let Some((check, first)) = digits.split_last() else { return false };
    let product = first.iter().fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    let counts: Vec<usize> = (0..10).map(|digit| first.iter().filter(|found| **found == digit).count()).collect();
    // One digit occurs twice or three times, and the others at most once.
    let repeated = counts.iter().filter(|count| **count > 1).count() == 1 && counts.iter().all(|count| *count <= 3);
    digits.len() == 11 && digits.first() != Some(&0) && repeated && (11 - product) % 10 == *check
}

/// Numéro d'inscription au répertoire: 97 less the number modulo 97; Corsica's letters are 19 and 18.
pub(super) fn french_nir(text: &str) -> bool {
    let compact = compact(text).replace("2A", "19").replace("2B", "18");
    let Some((number, key)) = compact.split_at_checked(13) else { return false };
    let parsed = number.parse::<u64>().ok().zip(key.parse::<u64>().ok());
    key.len() == 2 && parsed.is_some_and(|(number, key)| 97 - number % 97 == key)
}

/// Cadastro de Pessoas Físicas: two check digits modulo 11.
pub(super) fn cpf(text: &str) -> bool {
    let digits = digits(text);
    let check = |count: usize| {
        let sum: u32 =
            digits.iter().take(count).zip((2..=count as u32 + 1).rev()).map(|(digit, weight)| digit * weight).sum();
        (sum * 10 % 11) % 10
    };
    digits.len() == 11 && !uniform(&digits) && digits.get(9) == Some(&check(9)) && digits.get(10) == Some(&check(10))
}

/// Documento nacional de identidad: the letter is the number modulo 23. X, Y and Z of foreigners are 0, 1 and 2.
pub(super) fn spanish_dni(text: &str) -> bool {
    let compact = compact(text).replace('X', "0").replace('Y', "1").replace('Z', "2");
    let original = text.chars().rfind(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_uppercase());
    let Some((number, _)) = compact.split_at_checked(8) else { return false };
    let letter = number.parse::<usize>().ok().and_then(|number| "TRWAGMYFPDXBNJZSQVHLCKE".chars().nth(number % 23));
    compact.len() == 9 && letter.is_some() && letter == original
}

/// PESEL: weights 1 3 7 9, and a date.
pub(super) fn pesel(text: &str) -> bool {
    let digits = digits(text);
    let sum = weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    let number =
        |at: usize| digits.get(at..at + 2).unwrap_or_default().iter().fold(0, |number, digit| number * 10 + digit);
    digits.len() == 11
        && digits.last() == Some(&((10 - sum % 10) % 10))
        && (1..=12).contains(&(number(2) % 20))
        && (1..=31).contains(&number(4))
}

/// Burgerservicenummer: weights 9 to 2 and -1, modulo 11.
pub(super) fn bsn(text: &str) -> bool {
    let digits = digits(text);
    let sum = weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    digits.len() == 9 && !uniform(&digits) && digits.last().is_some_and(|last| (sum + 11 * 9 - last).is_multiple_of(11))
}

/// National Insurance number: prefixes that are not given out.
pub(super) fn nino(text: &str) -> bool {
    let compact = compact(text);
    let prefix = compact.get(..2).unwrap_or_default();
    compact.len() == 9 && !["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"].contains(&prefix)
}

/// Codice fiscale: values of odd positions are permuted, the sum modulo 26 is the letter.
pub(super) fn codice_fiscale(text: &str) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let compact = compact(text);
    let Some((body, check)) = compact.split_at_checked(15) else { return false };
    let value = |letter: char| letter.to_digit(10).or_else(|| letter.to_digit(36).map(|value| value - 10));
    let sum: Option<u32> = body
        .chars()
        .enumerate()
        .map(|(at, letter)| {
            let value = value(letter)?;
            if at % 2 == 0 { ODD.get(value as usize).copied() } else { Some(value) }
        })
        .sum();
    let letter = sum.and_then(|sum| char::from_u32(u32::from(b'A') + sum % 26));
    check.chars().next() == letter && check.len() == 1
}
