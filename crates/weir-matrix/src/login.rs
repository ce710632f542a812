//! Logs in to the account, always as the same device.

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

/// The name of the device that people see.
const DEVICE_NAME: &str = "Weir bridge";
/// Time limit for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Why logging in failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// A later attempt may succeed.
    #[error("{0}")]
    Passing(String),
    /// A person has to fix something.
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
                Self::Final(format!("matrix.homeserver is not a valid address: {error}"))
            }
            ClientBuildError::SqliteStore(error) => Self::Final(format!(
                "the stored Matrix data cannot be opened: {error}; has matrix.store_passphrase changed?"
            )),
            other => Self::Passing(format!("the homeserver cannot be found: {other}")),
        }
    }
}

/// The account and device of a login.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct WhoAmI {
    pub(crate) user_id: OwnedUserId,
    pub(crate) device_id: Option<OwnedDeviceId>,
}

/// A client that stores nothing.
pub(crate) async fn without_store(options: &MatrixOptions) -> Result<Client, LoginError> {
    Ok(builder(options).build().await?)
}

/// Logs in, or restores the stored login.
pub(crate) async fn log_in(options: &MatrixOptions) -> Result<Client, LoginError> {
    weir_base::file::create_private_folder(&options.folder)
        .map_err(|source| BridgeError::File { path: options.folder.clone(), source })?;
    let client = match &options.login {
        MatrixLogin::Password { user, password } => with_password(options, user, password).await?,
        MatrixLogin::AccessToken(token) => with_token(options, token).await?,
    };
    // Creates the keys that others need to write to the bot. If that takes long, it continues in the background.
    let encryption = client.encryption();
    drop(tokio::time::timeout(REQUEST_TIMEOUT, encryption.wait_for_e2ee_initialization_tasks()).await);
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
    // Store the device first: one that the homeserver knows and we have forgotten would stay there forever.
    login.write(&options.folder)?;
    let client = with_store(options, &login.device).await?;
    let sent = client.matrix_auth().login_username(user, password.reveal());
    let response = sent.device_id(&login.device).initial_device_display_name(DEVICE_NAME).send().await;
    let response = response.map_err(|error| match error.client_api_error_kind() {
        Some(ErrorKind::Forbidden | ErrorKind::UserDeactivated | ErrorKind::InvalidUsername) => {
            LoginError::Final(format!("the homeserver refuses the password of {user}: {}", explain(&error)))
        }
        _ => LoginError::Passing(format!("the login failed: {}", explain(&error))),
    })?;
    login.session =
        Some(KeptSession { user_id: response.user_id.to_string(), access_token: response.access_token });
    login.write(&options.folder)?;
    Ok(client)
}

async fn with_token(options: &MatrixOptions, token: &Secret) -> Result<Client, LoginError> {
    let address = without_store(options).await?.homeserver();
    let who = who_am_i(address.as_str(), token).await?;
    let Some(device) = who.device_id else {
        let text = "matrix.access_token does not belong to a device; log in with a password instead";
        return Err(LoginError::Final(text.to_owned()));
    };
    restore(options, who.user_id.as_str(), device.as_str(), token.reveal()).await
}

/// Asks the homeserver which account a token belongs to.
pub(crate) async fn who_am_i(address: &str, token: &Secret) -> Result<WhoAmI, LoginError> {
    let address = format!("{}/_matrix/client/v3/account/whoami", address.trim_end_matches('/'));
    let unreachable =
        |error| LoginError::Passing(format!("the homeserver cannot be reached: {}", http::reason(error)));
    let answer = http::client(REQUEST_TIMEOUT)?.get(address).bearer_auth(token.reveal()).send().await;
    let answer = answer.map_err(unreachable)?;
    match answer.status().as_u16() {
        401 | 403 => {
            Err(LoginError::Final("the homeserver refuses the access token; create another one".to_owned()))
        }
        200 => answer.json().await.map_err(unreachable),
        status => Err(LoginError::Passing(format!("the homeserver answered with status {status}"))),
    }
}

async fn restore(
    options: &MatrixOptions,
    user: &str,
    device: &str,
    access_token: &str,
) -> Result<Client, LoginError> {
    let user_id = OwnedUserId::try_from(user)
        .map_err(|error| LoginError::Final(format!("{user:?} is not a valid Matrix account: {error}")))?;
    let client = with_store(options, device).await?;
    let session = MatrixSession {
        meta: SessionMeta { user_id, device_id: device.into() },
        tokens: SessionTokens { access_token: access_token.to_owned(), refresh_token: None },
    };
    let restored = client.matrix_auth().restore_session(session, RoomLoadSettings::default()).await;
    restored.map_err(|error| {
        LoginError::Final(format!("the stored Matrix data cannot be used: {}", explain(&error)))
    })?;
    Ok(client)
}

/// A client that stores its keys and rooms. Each device has its own folder, because keys belong to one device.
async fn with_store(options: &MatrixOptions, device: &str) -> Result<Client, LoginError> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let name: String = device.chars().filter(|character| is_word(*character)).collect();
    let folder = options.folder.join(format!("device-{name}"));
    weir_base::file::create_private_folder(&folder)
        .map_err(|source| BridgeError::File { path: folder.clone(), source })?;
    let passphrase = options.passphrase.as_ref().map(Secret::reveal);
    Ok(builder(options).sqlite_store(&folder, passphrase).build().await?)
}

fn builder(options: &MatrixOptions) -> ClientBuilder {
    let settings = EncryptionSettings { auto_enable_cross_signing: true, ..EncryptionSettings::default() };
    // No retries in the SDK: the bridge has its own rules for that.
    let requests = RequestConfig::new().timeout(REQUEST_TIMEOUT).disable_retry();
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

/// What to do after the homeserver has ended a login.
pub(crate) fn how_to_log_in_again(options: &MatrixOptions) -> String {
    match &options.login {
        MatrixLogin::Password { .. } => format!(
            "the homeserver has ended this login; remove {} and start again, so that the bridge logs in as a new device",
            kept_login::file(&options.folder).display()
        ),
        MatrixLogin::AccessToken(_) => {
            "the homeserver has ended this login; create another access token".to_owned()
        }
    }
}

/// Ends a login that was made only for a check.
pub(crate) async fn log_out(client: &Client) -> Result<(), String> {
    client.matrix_auth().logout().await.map(|_| ()).map_err(|error| explain_http(&error))
}
