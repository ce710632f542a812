//! Measures rendered text.

/// The length of an HTML text in UTF-16 units, without tags and with each entity counted as one unit.
pub(super) fn visible_utf16(html: &str) -> usize {
    let (mut length, mut in_tag, mut in_entity) = (0, false, false);
    for character in html.chars() {
        match character {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            '&' if !in_tag => in_entity = true,
            ';' if in_entity => {
                in_entity = false;
                length += 1;
            }
            _ if in_tag || in_entity => {}
            other => length += other.len_utf16(),
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::visible_utf16;

    #[test]
    fn counts_visible_characters() {
        assert_eq!(visible_utf16("<b>a &amp; b</b>"), 5);
        assert_eq!(visible_utf16("\u{1f600}"), 2);
    }
}
