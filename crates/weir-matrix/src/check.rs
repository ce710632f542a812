//! Logs in and reports what works, without touching the data of a running bridge.

use matrix_sdk::Client;
use matrix_sdk::ruma::api::client::membership::joined_rooms;
use weir_bridge::BridgeError;
use weir_bridge::config::{MatrixLogin, Secret};

use crate::channel::MatrixOptions;
use crate::failure::{explain, explain_http};
use crate::kept_login::KeptLogin;
use crate::login::{LoginError, WhoAmI, log_out, who_am_i, without_store};

/// Describes what works, one sentence per line.
pub(crate) async fn check(options: &MatrixOptions) -> Result<Vec<String>, BridgeError> {
    checked(options)
        .await
        .map_err(|error| BridgeError::Channel { channel: "matrix".to_owned(), reason: error.to_string() })
}

async fn checked(options: &MatrixOptions) -> Result<Vec<String>, LoginError> {
    let client = without_store(options).await?;
    let versions = client.server_versions().await;
    let versions = versions.map_err(|error| LoginError::Passing(explain_http(&error)))?;
    let newest =
        versions.iter().max().and_then(|version| version.as_str()).unwrap_or("an old version of Matrix");
    let mut lines = vec![format!("{} responds and supports {newest}", client.homeserver())];
    match &options.login {
        MatrixLogin::AccessToken(token) => {
            let who = who_am_i(client.homeserver().as_str(), token).await?;
            lines.push(logged_in(&who));
            if who.device_id.is_none() {
                let text = "matrix.access_token does not belong to a device; log in with a password instead";
                return Err(LoginError::Final(text.to_owned()));
            }
        }
        MatrixLogin::Password { user, password } => {
            let kept = KeptLogin::read(&options.folder)?;
            let kept = kept.filter(|kept| kept.homeserver == options.homeserver && kept.user == *user);
            match kept.and_then(|kept| kept.session) {
                Some(session) => {
                    let token = Secret::new(&session.access_token);
                    lines.push(logged_in(&who_am_i(client.homeserver().as_str(), &token).await?));
                }
                None => lines.extend(try_password(&client, user, password).await?),
            }
        }
    }
    lines.push("messages can be encrypted".to_owned());
    Ok(lines)
}

fn logged_in(who: &WhoAmI) -> String {
    match &who.device_id {
        Some(device) => format!("logged in as {}, device {device}", who.user_id),
        None => format!("logged in as {}", who.user_id),
    }
}

/// Logs in and out again. The bridge logs in by itself when it first runs.
async fn try_password(client: &Client, user: &str, password: &Secret) -> Result<Vec<String>, LoginError> {
    let login = client.matrix_auth().login_username(user, password.reveal());
    let answer = login.initial_device_display_name("Weir bridge (check)").send().await;
    let answer =
        answer.map_err(|error| LoginError::Final(format!("the login failed: {}", explain(&error))))?;
    let mut lines = vec![format!("the password of {} is correct", answer.user_id)];
    if let Ok(rooms) = client.send(joined_rooms::v3::Request::new()).await {
        lines.push(format!("it is in {} rooms", rooms.joined_rooms.len()));
    }
    log_out(client).await.map_err(|reason| LoginError::Passing(format!("the logout failed: {reason}")))?;
    Ok(lines)
}
