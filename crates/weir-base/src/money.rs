//! Amounts of money.

/// Dollars for people: `$12.34`, and up to four decimals below a dollar, because a turn may cost a tenth of a cent.
pub fn dollars(usd: f64) -> String {
    if usd.abs() >= 1.0 {
        return format!("${usd:.2}");
    }
    let text = format!("${usd:.4}");
    let text = text.strip_suffix('0').unwrap_or(&text);
    text.strip_suffix('0').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_have_more_digits() {
        let shown = [0.0, 0.00042, 0.012, 0.5, 1.0, 1234.5].map(dollars);
        assert_eq!(shown, ["$0.00", "$0.0004", "$0.012", "$0.50", "$1.00", "$1234.50"]);
    }
}
