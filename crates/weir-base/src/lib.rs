//! Small things that every crate of Weir needs, each defined once: times and durations, amounts of money, error
//! chains, files that are replaced atomically, HTML escaping, short forms of texts.
//!
//! [`time`], [`money`], [`error`], [`html`] and [`text`] are pure, but for [`time::now_ms`]. Only [`mod@file`] touches the disk.

pub mod error;
pub mod file;
pub mod html;
pub mod money;
pub mod text;
pub mod time;
