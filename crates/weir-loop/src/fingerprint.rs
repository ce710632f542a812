//! Recognises repeated failures. Pure.

/// A fingerprint of texts: the same for texts that differ only in numbers, times, addresses and spaces.
pub fn of(parts: &[&str]) -> String {
    // FNV-1a: stable across versions and machines, and it needs no resistance to attacks.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| {
        hash ^= u64::from(byte);
        hash = hash.wrapping_mul(0x0100_0000_01b3);
    };
    for part in parts {
        for line in part.lines() {
            normalize(line).bytes().for_each(&mut add);
            add(b'\n');
        }
        add(0);
    }
    format!("{hash:016x}")
}

/// The line without the parts that change from run to run.
fn normalize(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // Colours.
            '\u{1b}' => {
                if letters.next_if_eq(&'[').is_some() {
                    while letters.next().is_some_and(|letter| !letter.is_ascii_alphabetic()) {}
                }
            }
            _ if letter.is_ascii_digit() => {
                // A number, also in base 16: `0x7f3a`, `1a2b3c`.
                while letters
                    .next_if(|next| next.is_ascii_hexdigit() || matches!(next, 'x' | '.' | ':'))
                    .is_some()
                {}
                out.push('#');
            }
            _ if letter.is_whitespace() => {
                if !out.ends_with(' ') && !out.is_empty() {
                    out.push(' ');
                }
            }
            _ => out.push(letter),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_has_the_same_fingerprint() {
        let first = of(&["test", "thread 'main' (1234) panicked at src/lib.rs:10:5\nfinished in 0.02s"]);
        let again = of(&[
            "test",
            "thread 'main' (99) panicked at  src/lib.rs:12:5 \n\u{1b}[31mfinished in 1.75s\u{1b}[0m",
        ]);
        assert_eq!(first, again);
        assert_ne!(
            first,
            of(&["test", "thread 'main' (1234) panicked at src/main.rs:10:5\nfinished in 0.02s"])
        );
        assert_ne!(of(&["a", "b"]), of(&["ab", ""]));
    }
}
