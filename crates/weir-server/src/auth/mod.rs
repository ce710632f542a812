//! Access control: tokens with roles, how they are stored, and how often they may be used.

mod budgets;
mod file;
mod rate;
mod role;
mod secret;
mod token;
mod tokens;

pub(crate) use budgets::Budgets;
pub use file::TokenFileError;
pub(crate) use file::write_private;
pub use rate::{Buckets, Rate};
pub use role::Role;
pub(crate) use secret::hex;
pub use secret::{Secret, SecretHash};
pub use token::{NewToken, Principal, Token, TokenInfo};
pub use tokens::{Standing, Tokens};
