//! Whether two texts hold the same digits.

/// First digits of the scripts that have their own.
const ZEROS: &[u32] = &[
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
];

fn value(character: char) -> Option<char> {
    let code = u32::from(character);
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

/// The numbers of a text by their digits alone, sorted: `12.5` and `12,5` are the same, and so are `1,000` and `1 000`.
fn numbers(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let (mut numbers, mut number) = (Vec::new(), String::new());
    for (at, character) in characters.iter().enumerate() {
        let next = characters.get(at + 1).copied().and_then(value);
        match value(*character) {
            Some(digit) => number.push(digit),
            None if !number.is_empty() && next.is_some() && ".,:/'’\u{a0}\u{202f} -".contains(*character) => {}
            None if !number.is_empty() => numbers.push(std::mem::take(&mut number)),
            None => {}
        }
    }
    if !number.is_empty() {
        numbers.push(number);
    }
    numbers.sort_unstable();
    numbers
}

/// Whether both texts hold the same numbers, in any order.
pub(super) fn same(one: &str, other: &str) -> bool {
    numbers(one) == numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_order_and_script_do_not_matter() {
        assert!(same("12.5 mg at 10:30", "às 10:30, 12,5 mg"));
        assert!(same("1,000 people", "1 000 pessoas"));
        assert!(same("٣ ملغ", "3 mg"));
        assert!(same("no number", "nenhum"));
    }

    #[test]
    fn another_digit_does() {
        assert!(!same("12.5 mg", "12.6 mg"));
        assert!(!same("5 mg", "mg"));
        assert!(!same("two pills", "2 comprimidos"));
        assert!(!same("5 mg, 5 mg", "5 mg"));
    }
}
