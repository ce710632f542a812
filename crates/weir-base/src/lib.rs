//! Small things that every crate of Weir needs, each defined once: times and durations, amounts of money, error
//! chains, files that are replaced atomically, HTML escaping, short forms of texts, setters of options.
//!
//! [`time`], [`money`], [`error`], [`html`] and [`text`] are pure, but for [`time::now_ms`]. Only [`mod@file`] touches the disk.

/// Writes a setter for each of these fields: a method that takes the options, sets the field, and gives them back.
///
/// ```
/// #[derive(Default)]
/// struct Options {
///     name: Option<String>,
///     is_quick: bool,
/// }
///
/// impl Options {
///     weir_base::setters! {
///         /// Names it.
///         name: String = Some;
///         /// Makes it quick.
///         is_quick: bool = std::convert::identity;
///     }
/// }
///
/// let options = Options::default().name("x").is_quick(true);
/// assert_eq!((options.name.as_deref(), options.is_quick), (Some("x"), true));
/// ```
#[macro_export]
macro_rules! setters {
    ($( $(#[$doc:meta])* $name:ident: $type:ty = $value:expr; )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: impl Into<$type>) -> Self {
                self.$name = $value($name.into());
                self
            }
        )*
    };
}

pub mod error;
pub mod file;
pub mod html;
pub mod money;
pub mod text;
pub mod time;
