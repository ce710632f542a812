//! Gets into the account, always as the same device.

use std::time::Duration;

use matrix_sdk::authentication::matrix::MatrixSession;
use matrix_sdk::config::RequestConfig;
use matrix_sdk::encryption::EncryptionSettings;
use matrix_sdk::ruma::api::error::ErrorKind;
use matrix_sdk::ruma::{DeviceId, OwnedDeviceId, OwnedUserId};
use matrix_sdk::store::RoomLoadSettings;
use matrix_sdk::{Client, ClientBuildError, ClientBuilder, SessionMeta, SessionTokens};
use serde::Deserialize;
use weir_bridge::config::{MatrixLogin, Secret};
use weir_bridge::{BridgeError, http};

use crate::channel::MatrixOptions;
use crate::failure::{explain, explain_http};
use crate::kept_login::{self, KeptLogin, KeptSession};

/// What people see as the name of the device.
const DEVICE_NAME: &str = "Weir bridge";
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// It may work later.
    #[error("{0}")]
    Passing(String),
    /// A person has to mend something.
    #[error("{0}")]
    Final(String),
}

impl From<BridgeError> for LoginError {
    fn from(error: BridgeError) -> Self {
        Self::Final(error.to_string())
    }
}

impl From<ClientBuildError> for LoginError {
    fn from(error: ClientBuildError) -> Self {
        match error {
            ClientBuildError::Url(error) => {
                Self::Final(format!("matrix.homeserver is not an address: {error}"))
            }
            ClientBuildError::SqliteStore(error) => Self::Final(format!(
                "what is kept of Matrix cannot be opened: {error}; is matrix.store_passphrase the same as before?"
            )),
            other => Self::Passing(format!("the homeserver cannot be found: {other}")),
        }
    }
}

/// Who is logged in, as which device.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct WhoAmI {
    pub(crate) user_id: OwnedUserId,
    pub(crate) device_id: Option<OwnedDeviceId>,
}

/// A client that nothing is kept of.
pub(crate) async fn without_store(options: &MatrixOptions) -> Result<Client, LoginError> {
    Ok(builder(options).build().await?)
}

/// Logs in, or goes on with the login that is kept.
pub(crate) async fn log_in(options: &MatrixOptions) -> Result<Client, LoginError> {
    kept_login::make_private(&options.folder)
        .map_err(|source| BridgeError::File { path: options.folder.clone(), source })?;
    let client = match &options.login {
        MatrixLogin::Password { user, password } => with_password(options, user, password).await?,
        MatrixLogin::AccessToken(token) => with_token(options, token).await?,
    };
    // Keys that others need to write to us are made here. Where that takes long it goes on beside the rest.
    let encryption = client.encryption();
    drop(tokio::time::timeout(PATIENCE, encryption.wait_for_e2ee_initialization_tasks()).await);
    Ok(client)
}

async fn with_password(options: &MatrixOptions, user: &str, password: &Secret) -> Result<Client, LoginError> {
    let same = |kept: &KeptLogin| kept.homeserver == options.homeserver && kept.user == user;
    let kept = KeptLogin::read(&options.folder)?.filter(same);
    let mut login = kept.unwrap_or_else(|| KeptLogin {
        homeserver: options.homeserver.clone(),
        user: user.to_owned(),
        device: DeviceId::new().to_string(),
        session: None,
    });
    if let Some(session) = &login.session {
        return restore(options, &session.user_id, &login.device, &session.access_token).await;
    }
    // A device that the homeserver has heard of and that we have forgotten would stay there for ever.
    login.write(&options.folder)?;
    let client = with_store(options, &login.device).await?;
    let sent = client.matrix_auth().login_username(user, password.reveal());
    let answer = sent.device_id(&login.device).initial_device_display_name(DEVICE_NAME).send().await;
    let answer = answer.map_err(|error| match error.client_api_error_kind() {
        Some(ErrorKind::Forbidden | ErrorKind::UserDeactivated | ErrorKind::InvalidUsername) => {
            LoginError::Final(format!("the homeserver refuses the password of {user}: {}", explain(&error)))
        }
        _ => LoginError::Passing(format!("the login failed: {}", explain(&error))),
    })?;
    login.session =
        Some(KeptSession { user_id: answer.user_id.to_string(), access_token: answer.access_token });
    login.write(&options.folder)?;
    Ok(client)
}

async fn with_token(options: &MatrixOptions, token: &Secret) -> Result<Client, LoginError> {
    let address = without_store(options).await?.homeserver();
    let who = who_am_i(address.as_str(), token).await?;
    let Some(device) = who.device_id else {
        let text = "matrix.access_token belongs to no device; log in with a password instead";
        return Err(LoginError::Final(text.to_owned()));
    };
    restore(options, who.user_id.as_str(), device.as_str(), token.reveal()).await
}

/// Asks the homeserver whose token it is.
pub(crate) async fn who_am_i(address: &str, token: &Secret) -> Result<WhoAmI, LoginError> {
    let address = format!("{}/_matrix/client/v3/account/whoami", address.trim_end_matches('/'));
    let unreachable =
        |error| LoginError::Passing(format!("the homeserver cannot be reached: {}", http::reason(error)));
    let answer = http::client(PATIENCE)?.get(address).bearer_auth(token.reveal()).send().await;
    let answer = answer.map_err(unreachable)?;
    match answer.status().as_u16() {
        401 | 403 => Err(LoginError::Final(
            "the homeserver does not take the access token: make another one".to_owned(),
        )),
        200 => answer.json().await.map_err(unreachable),
        status => Err(LoginError::Passing(format!("the homeserver answers with status {status}"))),
    }
}

async fn restore(
    options: &MatrixOptions,
    user: &str,
    device: &str,
    access_token: &str,
) -> Result<Client, LoginError> {
    let user_id = OwnedUserId::try_from(user)
        .map_err(|error| LoginError::Final(format!("{user:?} is not an account on Matrix: {error}")))?;
    let client = with_store(options, device).await?;
    let session = MatrixSession {
        meta: SessionMeta { user_id, device_id: device.into() },
        tokens: SessionTokens { access_token: access_token.to_owned(), refresh_token: None },
    };
    let restored = client.matrix_auth().restore_session(session, RoomLoadSettings::default()).await;
    restored.map_err(|error| {
        LoginError::Final(format!("what is kept of Matrix cannot be used: {}", explain(&error)))
    })?;
    Ok(client)
}

/// A client whose keys and rooms are kept. Each device has a folder of its own: its keys are of no use to another.
async fn with_store(options: &MatrixOptions, device: &str) -> Result<Client, LoginError> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = device.chars().filter(|character| is_word(*character)).collect();
    let folder = options.folder.join(format!("device-{name}"));
    kept_login::make_private(&folder).map_err(|source| BridgeError::File { path: folder.clone(), source })?;
    let passphrase = options.passphrase.as_ref().map(Secret::reveal);
    Ok(builder(options).sqlite_store(&folder, passphrase).build().await?)
}

fn builder(options: &MatrixOptions) -> ClientBuilder {
    let settings = EncryptionSettings { auto_enable_cross_signing: true, ..EncryptionSettings::default() };
    // Whoever calls decides about another try: the bridge has its own rules for that.
    let requests = RequestConfig::new().timeout(PATIENCE).disable_retry();
    let builder = Client::builder()
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
        .request_config(requests)
        .with_encryption_settings(settings);
    let homeserver = options.homeserver.as_str();
    if homeserver.starts_with("https://") || homeserver.starts_with("http://") {
        builder.homeserver_url(homeserver)
    } else {
        builder.server_name_or_homeserver_url(homeserver)
    }
}

/// What to do where the homeserver has ended a login.
pub(crate) fn how_to_log_in_again(options: &MatrixOptions) -> String {
    match &options.login {
        MatrixLogin::Password { .. } => format!(
            "the homeserver has ended this login; remove {} and start again, then the bridge logs in as another device",
            kept_login::file(&options.folder).display()
        ),
        MatrixLogin::AccessToken(_) => {
            "the homeserver has ended this login; make another access token".to_owned()
        }
    }
}

/// Ends a login that was only made to see whether it works.
pub(crate) async fn log_out(client: &Client) -> Result<(), String> {
    client.matrix_auth().logout().await.map(|_| ()).map_err(|error| explain_http(&error))
}
