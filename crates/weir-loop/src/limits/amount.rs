//! Amounts of what is limited, in words and as typed.

use std::fmt;

use weir_base::money::dollars;
use weir_base::time::duration_text;

use crate::config::Time;

/// What an amount counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Dollars.
    Dollars,
    /// A number of these.
    Count(&'static str),
    /// Milliseconds of work.
    Time,
    /// Milliseconds that count backwards from now.
    Period,
    /// A share of something: 1 is all of it.
    Share(&'static str),
}

/// An amount of something that is limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The number. Times are in milliseconds.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
}

impl Unit {
    /// Reads an amount as typed on a command line.
    ///
    /// # Errors
    /// Says how to write the amount.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let read = match self {
            Self::Dollars => text.trim_start_matches('$').parse().ok(),
            Self::Count(_) => text.parse::<u64>().ok().map(|count| count as f64),
            Self::Time | Self::Period => text.parse::<Time>().ok().map(|time| time.as_millis() as f64),
            Self::Share(_) => text.parse().ok(),
        };
        read.filter(|value| self.allows(*value)).ok_or_else(|| {
            let example = match self {
                Self::Dollars => "an amount above zero, such as 0.50",
                Self::Count(_) => "a number above zero",
                Self::Time | Self::Period => "a duration, such as 90s, 15m or 1h30m",
                Self::Share(_) => "a fraction above 0 and up to 1",
            };
            format!("expected {example}")
        })
    }

    /// Whether a limit may have this value: it bounds something.
    pub fn allows(self, value: f64) -> bool {
        let max = if matches!(self, Self::Share(_)) { 1.0 } else { f64::MAX };
        value > 0.0 && value <= max
    }

    /// The placeholder of a value in `--help`.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Dollars => "USD",
            Self::Count(_) => "N",
            Self::Time | Self::Period => "TIME",
            Self::Share(_) => "FRACTION",
        }
    }
}

/// The number: `$10.00`, `200,000,000`, `8 h 00 min`, `95 %`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Dollars => f.write_str(&dollars(self.value)),
            Unit::Count(_) => f.write_str(&grouped(self.value as u64)),
            Unit::Time | Unit::Period => f.write_str(&duration_text(self.value as u64)),
            Unit::Share(_) => write!(f, "{:.0} %", self.value * 100.0),
        }
    }
}

impl Amount {
    /// With what it counts: `50 iterations`.
    pub fn words(self) -> String {
        match self.unit {
            Unit::Dollars => self.to_string(),
            Unit::Time => format!("{self} working time"),
            Unit::Period => format!("counted over all runs of the last {self}"),
            Unit::Count(what) | Unit::Share(what) => format!("{self} {what}"),
        }
    }

    /// The part of this limit that is used, from 0 to 1.
    pub fn part(self, used: Self) -> f64 {
        if self.value > 0.0 { (used.value / self.value).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// `200,000,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_words() {
        let words = |value: f64, unit: Unit| Amount { value, unit }.words();
        assert_eq!(words(10.0, Unit::Dollars), "$10.00");
        assert_eq!(words(200_000_000.0, Unit::Count("tokens")), "200,000,000 tokens");
        assert_eq!(words(90_000.0, Unit::Time), "1 min 30 s working time");
        assert_eq!(words(0.95, Unit::Share("of it")), "95 % of it");
    }

    #[test]
    fn amounts_as_typed() {
        assert_eq!(Unit::Dollars.parse("$2.50"), Ok(2.5));
        assert_eq!(Unit::Count("x").parse("3"), Ok(3.0));
        assert_eq!(Unit::Time.parse("1m"), Ok(60_000.0));
        for (unit, text) in [
            (Unit::Dollars, "0"),
            (Unit::Dollars, "inf"),
            (Unit::Dollars, "NaN"),
            (Unit::Count("x"), "0"),
            (Unit::Count("x"), "-1"),
            (Unit::Time, "5"),
            (Unit::Share("x"), "1.5"),
        ] {
            assert!(unit.parse(text).unwrap_err().starts_with("expected"), "{unit:?} {text}");
        }
    }
}
