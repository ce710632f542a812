//! Small things that every crate of Weir needs, each defined once: times and durations, amounts of money, error
//! chains, files that are replaced atomically, HTML escaping.
//!
//! [`time`], [`money`], [`error`] and [`html`] are pure, but for [`time::now_ms`]. Only [`mod@file`] touches the disk.

pub mod error;
pub mod file;
pub mod html;
pub mod money;
pub mod time;
