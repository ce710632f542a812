//! Errors with their causes.

use std::error::Error;

/// The message of an error, followed by those of its causes that it does not already mention, in one line.
///
/// ```
/// let error = std::io::Error::other("the disk is gone");
/// assert_eq!(weir_base::error::with_causes(&error), "the disk is gone");
/// ```
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as &(dyn Error + 'static))
        }
    }

    #[test]
    fn causes_follow_and_none_is_repeated() {
        let disk = Layer("no space left", None);
        let file = Layer("cannot write a.txt: no space left", Some(Box::new(disk)));
        let top = Layer("the run failed", Some(Box::new(file)));
        assert_eq!(with_causes(&top), "the run failed: cannot write a.txt: no space left");
    }
}
