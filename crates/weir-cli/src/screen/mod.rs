//! Output for people: colours, lines, tables, Markdown, and the standard output itself.

mod clean;
mod clip;
mod diff;
pub(crate) mod markdown;
mod notices;
mod output;
mod progress;
mod story;
mod style;
mod table;
mod text;
mod width;
mod words;
mod wrap;

pub(crate) use clean::{clean, one_line};
pub(crate) use clip::{clip, columns};
pub(crate) use diff::coloured;
pub(crate) use notices::odd_end;
pub(crate) use output::Output;
pub(crate) use progress::{LineSink, ProgressLines, headline};
pub(crate) use story::story;
pub(crate) use style::Style;
pub(crate) use table::Table;
pub(crate) use text::{TextPrinter, TextSink};
pub(crate) use weir_base::text::plural;
pub(crate) use width::{size, width};
pub(crate) use words::{ago, cost_of, date, dollars, seconds, short_path};
