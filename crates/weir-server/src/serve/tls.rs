//! Certificates: from files, or a self-signed one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::auth::{hex, write_private};

/// Which certificate the server uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificate {
    /// PEM files.
    Files {
        /// The certificate and its chain.
        chain: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// A self-signed certificate, kept in a directory.
    SelfSigned {
        /// The directory.
        folder: PathBuf,
        /// The host names that it covers.
        names: Vec<String>,
    },
}

/// Why the certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read or parsed.
    #[error("cannot read {}: {reason}; it must be a PEM file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Reason for the failure.
        reason: String,
    },
    /// The certificate or key was rejected, for instance because they do not match.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The self-signed certificate could not be generated.
    #[error("cannot generate a certificate: {0}")]
    Making(#[from] rcgen::Error),
    /// The self-signed certificate could not be stored.
    #[error("cannot store the certificate: {0}")]
    Keeping(#[source] std::io::Error),
}

impl Certificate {
    /// Reads the certificate, or generates it.
    ///
    /// # Errors
    /// If it cannot be read, generated or used.
    pub fn load(&self) -> Result<Loaded, TlsError> {
        let (chain_file, key_file) = match self {
            Self::Files { chain, key } => (chain.clone(), key.clone()),
            Self::SelfSigned { folder, names } => self_signed(folder, names)?,
        };
        let fault = |path: &Path, reason: String| TlsError::File { path: path.to_owned(), reason };
        let chain: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_file_iter(&chain_file).and_then(Iterator::collect);
        let chain = chain.map_err(|error| fault(&chain_file, error.to_string()))?;
        let Some(first) = chain.first() else {
            return Err(fault(&chain_file, "no certificate found".to_owned()));
        };
        let fingerprint = fingerprint(first);
        let key =
            PrivateKeyDer::from_pem_file(&key_file).map_err(|error| fault(&key_file, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Loaded { acceptor: Arc::new(config).into(), fingerprint })
    }
}

/// A certificate that is ready for use.
#[derive(Clone)]
pub struct Loaded {
    pub(super) acceptor: TlsAcceptor,
    /// SHA-256 fingerprint of the certificate, for people to compare.
    pub fingerprint: String,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    use sha2::Digest as _;
    hex(&sha2::Sha256::digest(certificate))
}

/// Files of the self-signed certificate. It is generated once, because browsers remember which one was accepted.
fn self_signed(folder: &Path, names: &[String]) -> Result<(PathBuf, PathBuf), TlsError> {
    let (chain, key) = (folder.join("tls-certificate.pem"), folder.join("tls-key.pem"));
    let for_names = folder.join("tls-names");
    let wanted = names.join("\n");
    let is_there = chain.exists() && key.exists();
    if is_there && std::fs::read_to_string(&for_names).is_ok_and(|made_for| made_for == wanted) {
        return Ok((chain, key));
    }
    let made = rcgen::generate_simple_self_signed(names)?;
    write_private(&key, made.signing_key.serialize_pem().as_bytes()).map_err(TlsError::Keeping)?;
    write_private(&chain, made.cert.pem().as_bytes()).map_err(TlsError::Keeping)?;
    write_private(&for_names, wanted.as_bytes()).map_err(TlsError::Keeping)?;
    Ok((chain, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_self_signed_certificate_is_generated_once_per_names() {
        let folder = tempfile::tempdir().unwrap();
        let own = |name: &str| {
            let names = vec![name.to_owned()];
            Certificate::SelfSigned { folder: folder.path().to_owned(), names }.load().unwrap().fingerprint
        };
        let first = own("localhost");
        assert_eq!(own("localhost"), first);
        assert_ne!(own("weir.example"), first);
    }

    #[test]
    fn an_invalid_certificate_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chain.pem");
        std::fs::write(&file, "nothing").unwrap();
        let error = Certificate::Files { chain: file.clone(), key: file }.load().unwrap_err();
        assert!(error.to_string().contains("chain.pem"), "{error}");
    }
}
