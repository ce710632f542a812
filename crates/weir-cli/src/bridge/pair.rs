//! Creates pairing codes.

use std::io::Write as _;

use anyhow::Context as _;
use weir_base::time::now_ms;
use weir_bridge::config::Config;
use weir_bridge::machine::Role;
use weir_bridge::store::BridgeStore;

use super::engine;
use crate::exit::Exit;
use crate::opts::BridgePairOpts;

/// Letters and digits that are not easily confused.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Creates a code, stores its hash for the bridge, and prints it.
pub(super) fn pair(opts: &BridgePairOpts) -> anyhow::Result<Exit> {
    let config = Config::read(&opts.config)?;
    let store = BridgeStore::open(&engine::data_dir(&config)?.join("bridge.db"))?;
    let code = code();
    let role = if opts.admin { Role::Admin } else { Role::User };
    let expires_at = now_ms() + i64::from(opts.minutes) * 60_000;
    store.add_code(&code, role, expires_at)?;
    let shown = format!("{}-{}", code.get(..4).unwrap_or_default(), code.get(4..).unwrap_or_default());
    let text = if opts.json {
        serde_json::json!({"code": shown, "expires_at": expires_at}).to_string()
    } else {
        format!("{shown}\n\nSend the bot: /pair {shown}\nIt works once, within {} minutes.", opts.minutes)
    };
    std::io::stdout().write_all(format!("{text}\n").as_bytes()).context("cannot print the code")?;
    Ok(Exit::Success)
}

/// Eight characters, forty bits from the system's generator.
fn code() -> String {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    // The version and the variant of a UUID are not random: skip the bytes with them.
    let random = bytes.iter().take(6).chain(bytes.iter().skip(10)).take(8);
    random.filter_map(|byte| ALPHABET.get(usize::from(byte % 32))).map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn codes_differ_and_are_readable() {
        let (one, other) = (code(), code());
        assert_ne!(one, other);
        assert_eq!(one.len(), 8);
        assert!(!one.contains(['0', 'O', '1', 'I']));
    }
}
