//! How a model works, as levels with names.

use serde::{Deserialize, Serialize};

/// How thoroughly a model works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Effort {
    /// Quick and cheap.
    Low,
    /// Between low and high.
    Medium,
    /// Thorough.
    High,
    /// More thorough than high.
    #[cfg_attr(feature = "clap", value(name = "xhigh"))]
    XHigh,
    /// As thorough as the model can be.
    Max,
}

impl Effort {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Its name for the CLI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// Whether a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Thinking {
    /// The model decides how much.
    Adaptive,
    /// It does not.
    Disabled,
}

impl Thinking {
    /// Its name for the CLI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Disabled => "disabled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_same_name_everywhere() {
        for effort in Effort::ALL {
            assert_eq!(serde_json::json!(effort), effort.as_str());
        }
        for thinking in [Thinking::Adaptive, Thinking::Disabled] {
            assert_eq!(serde_json::json!(thinking), thinking.as_str());
        }
    }
}
