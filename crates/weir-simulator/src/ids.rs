//! Identifiers like those of the real CLI: the same shapes, and reproducible from a seed.
//!
//! Each agent has its own generator, so that concurrent threads do not change each other's identifiers.

use std::sync::{Arc, Mutex};

use super::lock;

/// A source of identifiers.
#[derive(Debug)]
pub(crate) struct Ids {
    seed: u64,
    state: Mutex<u64>,
}

impl Ids {
    /// Identifiers determined by a seed, or random ones.
    pub(crate) fn new(seed: Option<u64>) -> Arc<Self> {
        let random = || {
            let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
            high ^ low.rotate_left(17)
        };
        let seed = seed.unwrap_or_else(random);
        Arc::new(Self { seed, state: Mutex::new(seed) })
    }

    /// A generator for one agent or thread, determined by the seed and its name.
    pub(crate) fn fork(&self, name: &str) -> Arc<Self> {
        // FNV-1a: small, and the same on every machine.
        let start = 0xcbf2_9ce4_8422_2325 ^ self.seed;
        let seed =
            name.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Arc::new(Self { seed, state: Mutex::new(seed) })
    }

    /// The next number (splitmix64).
    pub(crate) fn number(&self) -> u64 {
        let mut state = lock(&self.state);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random UUID.
    pub(crate) fn uuid(&self) -> String {
        let bytes = (u128::from(self.number()) << 64) | u128::from(self.number());
        uuid::Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid().to_string()
    }

    fn letters(&self, alphabet: &str, count: usize) -> String {
        let size = alphabet.len() as u64;
        (0..count)
            .filter_map(|_| {
                alphabet.chars().nth(usize::try_from(self.number() % size.max(1)).unwrap_or_default())
            })
            .collect()
    }

    /// Hexadecimal digits.
    pub(crate) fn hex(&self, count: usize) -> String {
        self.letters("0123456789abcdef", count)
    }

    /// Lower-case letters and digits.
    pub(crate) fn base36(&self, count: usize) -> String {
        self.letters("0123456789abcdefghijklmnopqrstuvwxyz", count)
    }

    fn long(&self, prefix: &str) -> String {
        let letters = self.letters("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 22);
        format!("{prefix}{letters}")
    }

    /// The identifier of a model message.
    pub(crate) fn message(&self) -> String {
        self.long("msg_01")
    }

    /// The identifier of a tool call.
    pub(crate) fn tool_use(&self) -> String {
        self.long("toolu_01")
    }

    /// The identifier of an API request.
    pub(crate) fn api_request(&self) -> String {
        self.long("req_01")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_identifiers() {
        let (first, second) = (Ids::new(Some(7)), Ids::new(Some(7)));
        assert_eq!(first.uuid(), second.uuid());
        assert_eq!(first.fork("a").message(), second.fork("a").message());
        assert_ne!(first.fork("a").message(), second.fork("b").message());
        assert_ne!(Ids::new(None).uuid(), Ids::new(None).uuid());
        assert_eq!(uuid::Uuid::parse_str(&first.uuid()).unwrap().get_version_num(), 4);
    }
}
