//! Parses Telegram's HTML as strictly as Telegram does.

const TAGS: [&str; 9] = ["b", "i", "u", "s", "a", "code", "pre", "blockquote", "tg-spoiler"];

/// The text without its tags, or what is wrong with it.
pub(crate) fn parse(html: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('&') {
            let end = rest.find(';').ok_or("unterminated entity")?;
            text.push(match &rest[..=end] {
                "&lt;" => '<',
                "&gt;" => '>',
                "&amp;" => '&',
                "&quot;" => '"',
                other => return Err(format!("unsupported entity {other}")),
            });
            rest = &rest[end + 1..];
            continue;
        }
        let end = rest.find('>').ok_or("unclosed start tag")?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().ok_or(format!("unexpected end tag {name}"))?;
            if last != name {
                return Err(format!("unmatched end tag, expected \"</{last}>\", found \"</{name}>\""));
            }
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default();
        if !TAGS.contains(&name) {
            return Err(format!("unsupported start tag \"{name}\""));
        }
        if open.iter().any(|outer| outer == "code" || (outer == "pre" && name != "code")) {
            return Err(format!("{name} inside of code"));
        }
        if name == "blockquote" && open.iter().any(|outer| outer == "blockquote") {
            return Err("nested blockquote".to_owned());
        }
        open.push(name.to_owned());
    }
    text.push_str(rest);
    match open.pop() {
        Some(name) => Err(format!("can't find end tag corresponding to start tag {name}")),
        None => Ok(text.trim().to_owned()),
    }
}
