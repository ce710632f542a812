//! The tokens of a server: authentication, creation and revocation.
//!
//! The file is the source of truth. It is checked before every decision, so a token revoked from the command line is
//! refused on the next request; open streams learn of it through [`Tokens::changes`].

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use super::file::{Stamp, TokenFile, TokenFileError};
use super::secret::{Secret, SecretHash, hex};
use super::token::{NewToken, Principal, Token};

/// How long an expired token stays listed, so that people see why it no longer works.
const KEEP_EXPIRED_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The tokens of a server. Cloning gives another handle to the same tokens.
#[derive(Debug, Clone)]
pub struct Tokens {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: TokenFile,
    loaded: RwLock<Loaded>,
    changes: watch::Sender<u64>,
}

#[derive(Debug)]
struct Loaded {
    stamp: Option<Stamp>,
    tokens: Vec<Token>,
    /// Whether the file could be read.
    is_known: bool,
}

impl Tokens {
    /// Opens the tokens in this file, which need not exist.
    ///
    /// # Errors
    /// If the file exists and cannot be used.
    pub fn open(path: PathBuf) -> Result<Self, TokenFileError> {
        let file = TokenFile::new(path);
        let stamp = file.stamp();
        let loaded = RwLock::new(Loaded { stamp, tokens: file.read()?, is_known: true });
        Ok(Self { inner: Arc::new(Inner { file, loaded, changes: watch::Sender::new(0) }) })
    }

    fn with<T>(&self, look: impl FnOnce(&[Token]) -> T) -> T {
        look(&self.inner.loaded.read().unwrap_or_else(PoisonError::into_inner).tokens)
    }

    /// Rereads the file if it has changed. If it cannot be read, no token is valid.
    pub fn refresh(&self) {
        let stamp = self.inner.file.stamp();
        let was_known = {
            let loaded = self.inner.loaded.read().unwrap_or_else(PoisonError::into_inner);
            if loaded.stamp == stamp && loaded.is_known {
                return;
            }
            loaded.is_known
        };
        let read = self.inner.file.read();
        let is_known = read.is_ok();
        let tokens = read.unwrap_or_else(|error| {
            if was_known {
                tracing::error!(%error, "cannot read the token file; no token is valid until this is fixed");
            }
            Vec::new()
        });
        let loaded = Loaded { stamp, tokens, is_known };
        *self.inner.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        if is_known || was_known {
            self.inner.changes.send_modify(|count| *count += 1);
        }
    }

    /// Whether it is known which tokens there are: the file could be read. Until then no token is valid.
    pub(crate) fn is_known(&self) -> bool {
        self.refresh();
        self.inner.loaded.read().unwrap_or_else(PoisonError::into_inner).is_known
    }

    /// Notifies about every change of the tokens.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// The holder of the presented secret. All tokens are compared, so that timing reveals nothing.
    pub fn authenticate(&self, presented: &str, now: i64) -> Option<Principal> {
        self.refresh();
        let hash = SecretHash::of(presented);
        self.with(|tokens| {
            let mut found = None;
            for token in tokens {
                if token.hash.matches(&hash) {
                    found = Some(token);
                }
            }
            let token = found?;
            if standing(tokens, token, now) != Standing::Good {
                return None;
            }
            let ends = lineage(tokens, token).filter_map(|one| one.expires_at).min();
            Some(Principal { expires_at: ends, ..Principal::from(token) })
        })
    }

    /// Whether a token is still valid, and if not, whether it expired.
    pub fn standing(&self, id: &str, now: i64) -> Standing {
        self.refresh();
        self.with(|tokens| match tokens.iter().find(|token| token.id == id) {
            None => Standing::Revoked,
            Some(token) => standing(tokens, token, now),
        })
    }

    /// The token with this id, whether or not it has expired.
    pub fn find(&self, id: &str) -> Option<Token> {
        self.refresh();
        self.with(|tokens| tokens.iter().find(|token| token.id == id).cloned())
    }

    /// All tokens, the oldest first.
    pub fn list(&self) -> Vec<Token> {
        self.refresh();
        self.with(<[Token]>::to_vec)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Token>) -> T) -> Result<T, TokenFileError> {
        let done = self.inner.file.change(change)?;
        self.refresh();
        Ok(done)
    }

    /// Creates a token. Its secret is returned here and never again.
    ///
    /// # Errors
    /// If it cannot be stored, or another token has its name.
    pub fn add(&self, new: NewToken, now: i64) -> Result<(Token, Secret), TokenFileError> {
        let secret = Secret::random().map_err(TokenFileError::Random)?;
        let mut id = [0_u8; 4];
        getrandom::fill(&mut id).map_err(TokenFileError::Random)?;
        let token = Token {
            id: hex(&id),
            name: new.name,
            role: new.role,
            session: new.session,
            maker: new.maker,
            created_at: now,
            expires_at: new.expires_at,
            max_cost_usd: new.max_cost_usd,
            spent_usd: 0.0,
            at_stake_usd: 0.0,
            requests_per_minute: new.requests_per_minute,
            hash: SecretHash::of(secret.reveal()),
        };
        let is_taken = self.change(|tokens| {
            tokens.retain(|old| old.expires_at.is_none_or(|at| at + KEEP_EXPIRED_MS > now));
            // Share links are distinguished by id: their makers do not name them.
            if token.maker.is_none() {
                if tokens.iter().any(|old| has_name(old, &token.name) && !old.is_expired(now)) {
                    return true;
                }
                tokens.retain(|old| !has_name(old, &token.name));
            }
            tokens.push(token.clone());
            false
        })?;
        if is_taken { Err(TokenFileError::NameTaken { name: token.name }) } else { Ok((token, secret)) }
    }

    /// Gives the token with this name a new secret and revokes the share links made with it, or creates it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn renew(&self, new: NewToken, now: i64) -> Result<Secret, TokenFileError> {
        match self.change_secret(&new.name, now)? {
            Some(secret) => Ok(secret),
            None => self.add(new, now).map(|(_, secret)| secret),
        }
    }

    /// Makes the secret of the token with this name useless, and revokes the share links made with it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn renew_if_present(&self, name: &str, now: i64) -> Result<(), TokenFileError> {
        self.change_secret(name, now).map(drop)
    }

    fn change_secret(&self, name: &str, now: i64) -> Result<Option<Secret>, TokenFileError> {
        let is_one = |token: &Token| token.maker.is_none() && has_name(token, name);
        let Some(known) = self.list().into_iter().find(is_one) else { return Ok(None) };
        let secret = Secret::random().map_err(TokenFileError::Random)?;
        self.revoke(|token| token.maker.as_ref() == Some(&known.id))?;
        let is_changed = self.change(|tokens| {
            let found = tokens.iter_mut().find(|token| token.id == known.id);
            found.map(|token| {
                token.hash = SecretHash::of(secret.reveal());
                token.created_at = now;
            })
        })?;
        Ok(is_changed.map(|()| secret))
    }

    /// Revokes tokens along with the share links made with them, and returns all that were revoked.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn revoke(&self, is_one: impl Fn(&Token) -> bool) -> Result<Vec<Token>, TokenFileError> {
        self.change(|tokens| {
            let mut revoked: Vec<Token> = tokens.extract_if(.., |token| is_one(token)).collect();
            loop {
                let is_orphan =
                    |token: &Token| revoked.iter().any(|gone| token.maker.as_ref() == Some(&gone.id));
                let orphans: Vec<Token> = tokens.extract_if(.., |token| is_orphan(token)).collect();
                if orphans.is_empty() {
                    return revoked;
                }
                revoked.extend(orphans);
            }
        })
    }

    /// Adds to what the holder of a token has spent.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn charge(&self, id: &str, usd: f64) -> Result<(), TokenFileError> {
        self.settle(id, usd, 0.0)
    }

    /// Puts money at stake for a starting turn: it counts as spent if the server is killed before [`Tokens::settle`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn stake(&self, id: &str, usd: f64) -> Result<(), TokenFileError> {
        self.settle(id, 0.0, -usd)
    }

    /// Adds to what the holder of a token has spent, and subtracts from what is at stake.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn settle(&self, id: &str, spent: f64, staked: f64) -> Result<(), TokenFileError> {
        self.change(|tokens| {
            if let Some(token) = tokens.iter_mut().find(|token| token.id == id) {
                token.spent_usd += spent;
                // Absorbs floating-point rounding errors.
                let at_stake = token.at_stake_usd - staked;
                token.at_stake_usd = if at_stake < 1e-9 { 0.0 } else { at_stake };
            }
        })
    }

    /// Counts as spent what was at stake when a server was killed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn lose_stakes(&self) -> Result<(), TokenFileError> {
        if self.list().iter().all(|token| token.at_stake_usd == 0.0) {
            return Ok(());
        }
        self.change(|tokens| {
            for token in tokens {
                token.spent_usd += std::mem::take(&mut token.at_stake_usd);
            }
        })
    }
}

/// A token, the token that made it, and so on. A cycle is cut off after as many steps as there are tokens.
fn lineage<'a>(tokens: &'a [Token], token: &'a Token) -> impl Iterator<Item = &'a Token> {
    let maker = |token: &&'a Token| {
        let maker = token.maker.as_ref()?;
        tokens.iter().find(|one| one.id == *maker)
    };
    std::iter::successors(Some(token), maker).take(tokens.len())
}

/// Whether a token is still valid. A share link is valid only while the token that made it is.
fn standing(tokens: &[Token], token: &Token, now: i64) -> Standing {
    let mut last = None;
    for one in lineage(tokens, token) {
        if one.is_expired(now) {
            return Standing::Expired;
        }
        last = one.maker.as_ref();
    }
    // The last token has no maker, or its maker no longer exists.
    if last.is_none() { Standing::Good } else { Standing::Revoked }
}

/// Whether a token has this name. People tell tokens apart by name, so case does not matter.
fn has_name(token: &Token, name: &str) -> bool {
    token.name.trim().to_lowercase() == name.trim().to_lowercase()
}

/// Whether a token is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The token is valid.
    Good,
    /// The token has expired.
    Expired,
    /// The token was revoked.
    Revoked,
}

#[cfg(test)]
mod tests {
    use super::super::role::Role;
    use super::*;

    fn tokens() -> (tempfile::TempDir, Tokens) {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path().join("tokens.json")).unwrap();
        (folder, tokens)
    }

    #[test]
    fn a_token_is_valid_until_it_is_revoked() {
        let (folder, tokens) = tokens();
        let (token, secret) = tokens.add(NewToken::new("ann", Role::Driver), 1).unwrap();
        assert_eq!(tokens.authenticate(secret.reveal(), 2).unwrap().name, "ann");
        assert_eq!(tokens.authenticate("weir_other", 2), None);
        let kept = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
        assert!(!kept.contains(secret.reveal()));
        let other = Tokens::open(folder.path().join("tokens.json")).unwrap();
        assert_eq!(other.revoke(|one| one.id == token.id).unwrap().len(), 1);
        assert_eq!(tokens.authenticate(secret.reveal(), 2), None, "revoked by another process");
        assert_eq!(tokens.standing(&token.id, 2), Standing::Revoked);
    }

    #[test]
    fn a_token_expires() {
        let (_folder, tokens) = tokens();
        let new = NewToken { expires_at: Some(100), ..NewToken::new("bo", Role::Viewer) };
        let (token, secret) = tokens.add(new, 1).unwrap();
        assert!(tokens.authenticate(secret.reveal(), 99).is_some());
        assert!(tokens.authenticate(secret.reveal(), 100).is_none());
        assert_eq!(tokens.standing(&token.id, 100), Standing::Expired);
    }

    #[test]
    fn a_renewed_token_is_the_same_with_another_secret() {
        let (_folder, tokens) = tokens();
        let new = || NewToken::new("ready-file", Role::Admin);
        tokens.renew_if_present("ready-file", 1).unwrap();
        assert!(tokens.list().is_empty());
        let first = tokens.renew(new(), 1).unwrap();
        let id = tokens.list()[0].id.clone();
        let link = NewToken { maker: Some(id.clone()), ..NewToken::new("link", Role::Viewer) };
        let (_, link) = tokens.add(link, 1).unwrap();
        assert!(tokens.authenticate(link.reveal(), 2).is_some());
        let second = tokens.renew(new(), 2).unwrap();
        assert_eq!(tokens.authenticate(first.reveal(), 2), None);
        assert_eq!(tokens.authenticate(link.reveal(), 2), None);
        assert_eq!(tokens.authenticate(second.reveal(), 2).unwrap().token_id, id);
        tokens.renew_if_present("ready-file", 3).unwrap();
        assert_eq!(tokens.authenticate(second.reveal(), 3), None);
        assert_eq!((tokens.list().len(), tokens.standing(&id, 3)), (1, Standing::Good));
    }

    #[test]
    fn a_share_link_ends_with_its_maker() {
        let (_folder, tokens) = tokens();
        let new = NewToken { expires_at: Some(100), ..NewToken::new("ann", Role::Driver) };
        let (ann, _) = tokens.add(new, 1).unwrap();
        let share =
            || NewToken { maker: Some(ann.id.clone()), ..NewToken::new("shared by ann", Role::Viewer) };
        let (link, secret) = tokens.add(share(), 1).unwrap();
        tokens.add(share(), 1).unwrap();
        assert_eq!(tokens.authenticate(secret.reveal(), 99).unwrap().expires_at, Some(100));
        assert_eq!(tokens.standing(&link.id, 100), Standing::Expired);
        assert!(tokens.authenticate(secret.reveal(), 100).is_none());
        assert_eq!(tokens.revoke(|token| token.id == ann.id).unwrap().len(), 3, "with both links");
        assert_eq!(tokens.standing(&link.id, 2), Standing::Revoked);
        // Also a link whose maker was revoked before the link was made.
        let (link, secret) = tokens.add(share(), 1).unwrap();
        assert_eq!(tokens.standing(&link.id, 2), Standing::Revoked);
        assert!(tokens.authenticate(secret.reveal(), 2).is_none());
    }

    #[test]
    fn tokens_in_a_cycle_are_invalid() {
        let (_folder, tokens) = tokens();
        let (one, secret) = tokens.add(NewToken::new("one", Role::Viewer), 1).unwrap();
        let made = NewToken { maker: Some(one.id.clone()), ..NewToken::new("other", Role::Viewer) };
        let (other, _) = tokens.add(made, 1).unwrap();
        tokens
            .change(|all| {
                if let Some(first) = all.iter_mut().find(|token| token.id == one.id) {
                    first.maker = Some(other.id.clone());
                }
            })
            .unwrap();
        assert!(tokens.authenticate(secret.reveal(), 2).is_none());
        assert_eq!(tokens.standing(&other.id, 2), Standing::Revoked);
    }

    #[test]
    fn token_names_are_unique() {
        let (_folder, tokens) = tokens();
        let new = NewToken { expires_at: Some(100), ..NewToken::new("Ann", Role::Viewer) };
        tokens.add(new, 1).unwrap();
        for name in ["Ann", "ann", " ANN "] {
            let again = tokens.add(NewToken::new(name, Role::Admin), 2);
            assert!(matches!(again, Err(TokenFileError::NameTaken { .. })), "{name}");
        }
        // The name of an expired token is free again.
        tokens.add(NewToken::new("ann", Role::Driver), 100).unwrap();
        assert_eq!(tokens.list().len(), 1);
    }

    #[test]
    fn spending_adds_up() {
        let (_folder, tokens) = tokens();
        let new = NewToken { max_cost_usd: Some(1.0), ..NewToken::new("cy", Role::Driver) };
        let (token, secret) = tokens.add(new, 1).unwrap();
        tokens.charge(&token.id, 0.25).unwrap();
        tokens.charge(&token.id, 0.5).unwrap();
        assert_eq!(tokens.authenticate(secret.reveal(), 2).unwrap().budget_left_usd, Some(0.25));
    }

    #[cfg(unix)]
    #[test]
    fn a_readable_token_file_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, tokens) = tokens();
        let (_, secret) = tokens.add(NewToken::new("di", Role::Admin), 1).unwrap();
        let path = folder.path().join("tokens.json");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Tokens::open(path.clone()), Err(TokenFileError::Open { .. })));
        // A running server notices when the content changes.
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(tokens.authenticate(secret.reveal(), 2), None);
    }
}
