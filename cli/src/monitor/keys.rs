//! Maps key events of the terminal to the keys that the monitor uses. Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key that the monitor uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Enter,
    Tab,
    Backspace,
    Escape,
    /// Ctrl-C or Ctrl-D.
    Interrupt,
}

/// Maps a key event; other keys are ignored. A terminal sends Alt with a key as Escape before it, so it is read as both.
pub(super) fn read(event: KeyEvent) -> Vec<Key> {
    let key = match event.code {
        KeyCode::Up => return vec![Key::Up],
        KeyCode::Down => return vec![Key::Down],
        KeyCode::Char(letter) if event.modifiers.contains(KeyModifiers::CONTROL) => control(letter),
        KeyCode::Char(letter) => Some(Key::Char(letter)),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Esc => Some(Key::Escape),
        _ => return Vec::new(),
    };
    let escape = event.modifiers.contains(KeyModifiers::ALT).then_some(Key::Escape);
    escape.into_iter().chain(key).collect()
}

/// Maps a control character by its letter: line feed is Ctrl-J, the backspace character Ctrl-H.
fn control(letter: char) -> Option<Key> {
    match letter {
        'c' | 'd' => Some(Key::Interrupt),
        'h' => Some(Key::Backspace),
        'j' => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_letters_and_controls_are_mapped_and_other_keys_ignored() {
        let plain = |code: KeyCode| read(code.into());
        let with = |modifiers, code| read(KeyEvent::new(code, modifiers));
        for (code, key) in [
            (KeyCode::Up, Key::Up),
            (KeyCode::Down, Key::Down),
            (KeyCode::Char('p'), Key::Char('p')),
            (KeyCode::Char('€'), Key::Char('€')),
            (KeyCode::Enter, Key::Enter),
            (KeyCode::Tab, Key::Tab),
            (KeyCode::Backspace, Key::Backspace),
            (KeyCode::Esc, Key::Escape),
        ] {
            assert_eq!(plain(code), [key], "{code:?}");
        }
        assert_eq!(with(KeyModifiers::SHIFT, KeyCode::Char('P')), [Key::Char('P')]);
        let controls = ['c', 'd', 'h', 'j'].map(|letter| with(KeyModifiers::CONTROL, KeyCode::Char(letter)));
        assert_eq!(controls.concat(), [Key::Interrupt, Key::Interrupt, Key::Backspace, Key::Enter]);
        assert_eq!(with(KeyModifiers::CONTROL, KeyCode::Char('a')), []);
        assert_eq!(with(KeyModifiers::CONTROL, KeyCode::Up), [Key::Up], "an arrow whatever is held with it");
        assert_eq!(with(KeyModifiers::CONTROL, KeyCode::Left), []);
        assert_eq!(plain(KeyCode::F(1)), []);
        assert_eq!(with(KeyModifiers::ALT, KeyCode::Char('x')), [Key::Escape, Key::Char('x')]);
    }
}
