//! A person on Matrix with their own client: what they do, and what they see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use matrix_sdk::attachment::AttachmentConfig;
use matrix_sdk::config::SyncSettings;
use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::media::{MediaFormat, MediaRequestParameters};
use matrix_sdk::ruma::api::client::account::register;
use matrix_sdk::ruma::api::client::room::{create_room, upgrade_room};
use matrix_sdk::ruma::api::client::uiaa::{AuthData, Dummy};
use matrix_sdk::ruma::events::reaction::ReactionEventContent;
use matrix_sdk::ruma::events::relation::{Annotation, Replacement, Reply, Thread};
use matrix_sdk::ruma::events::room::MediaSource;
use matrix_sdk::ruma::events::room::encryption::RoomEncryptionEventContent;
use matrix_sdk::ruma::events::room::member::MembershipState;
use matrix_sdk::ruma::events::room::message::{
    MessageType, Relation, RoomMessageEventContent, TextMessageEventContent,
};
use matrix_sdk::ruma::events::{
    AnySyncMessageLikeEvent, AnySyncStateEvent, AnySyncTimelineEvent, InitialStateEvent,
    SyncMessageLikeEvent, SyncStateEvent,
};
use matrix_sdk::ruma::{OwnedEventId, OwnedRoomId, OwnedUserId, UserId};
use matrix_sdk::{Client, Room};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::synapse::synapse;

/// Time limit for anything to happen.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The password of all accounts.
pub(crate) const PASSWORD: &str = "the test password";

static NUMBER: AtomicU32 = AtomicU32::new(1);

/// A unique name, because the homeserver is shared.
pub(crate) fn fresh_name(name: &str) -> String {
    format!("{name}{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Creates an account without logging in.
pub(crate) async fn register(name: &str) -> OwnedUserId {
    let client = Client::builder().homeserver_url(&synapse().await.url).build().await.unwrap();
    let mut request = registration(name);
    request.inhibit_login = true;
    client.matrix_auth().register(request).await.unwrap().user_id
}

fn registration(name: &str) -> register::v3::Request {
    let mut request = register::v3::Request::new();
    request.username = Some(name.to_owned());
    request.password = Some(PASSWORD.to_owned());
    request.auth = Some(AuthData::Dummy(Dummy::new()));
    request
}

/// A message as a person sees it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) sender: OwnedUserId,
    pub(crate) text: String,
    pub(crate) html: Option<String>,
    pub(crate) thread: Option<OwnedEventId>,
    pub(crate) reply_to: Option<OwnedEventId>,
    pub(crate) edits: usize,
    pub(crate) file: Option<MediaSource>,
    pub(crate) encrypted: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) messages: BTreeMap<OwnedEventId, Shown>,
    pub(crate) reactions: BTreeSet<(OwnedEventId, String)>,
    pub(crate) joined: BTreeSet<(OwnedRoomId, OwnedUserId)>,
    waiting: Vec<(OwnedRoomId, TimelineEvent)>,
}

impl Seen {
    fn take(&mut self, room: &Room, event: &TimelineEvent) {
        let Ok(parsed) = event.raw().deserialize() else { return };
        match parsed {
            AnySyncTimelineEvent::State(AnySyncStateEvent::RoomMember(SyncStateEvent::Original(member))) => {
                let who = (room.room_id().to_owned(), member.state_key);
                if member.content.membership == MembershipState::Join {
                    self.joined.insert(who);
                } else {
                    self.joined.remove(&who);
                }
            }
            AnySyncTimelineEvent::MessageLike(AnySyncMessageLikeEvent::Reaction(
                SyncMessageLikeEvent::Original(reaction),
            )) => {
                let annotation = reaction.content.relates_to;
                self.reactions.insert((annotation.event_id, annotation.key));
            }
            AnySyncTimelineEvent::MessageLike(AnySyncMessageLikeEvent::RoomRedaction(redaction)) => {
                let redacted = redaction.as_original().and_then(|redaction| redaction.redacts.clone());
                redacted.map(|redacted| self.messages.remove(&redacted));
            }
            AnySyncTimelineEvent::MessageLike(AnySyncMessageLikeEvent::RoomMessage(
                SyncMessageLikeEvent::Original(message),
            )) => {
                let encrypted = matches!(event.kind, TimelineEventKind::Decrypted(_));
                self.message(message.event_id, message.sender, message.content, encrypted);
            }
            _ => {}
        }
    }

    fn message(
        &mut self,
        id: OwnedEventId,
        sender: OwnedUserId,
        content: RoomMessageEventContent,
        encrypted: bool,
    ) {
        let (thread, reply_to) = match content.relates_to {
            Some(Relation::Replacement(change)) => {
                if let Some(shown) = self.messages.get_mut(&change.event_id) {
                    assert_eq!(shown.sender, sender, "people edit only their own messages");
                    shown.edits += 1;
                    (shown.text, shown.html) = text_of(&change.new_content.msgtype);
                }
                return;
            }
            Some(Relation::Reply(reply)) => (None, Some(reply.in_reply_to.event_id)),
            Some(Relation::Thread(thread)) => {
                (Some(thread.event_id), thread.in_reply_to.map(|reply| reply.event_id))
            }
            _ => (None, None),
        };
        let (text, html) = text_of(&content.msgtype);
        let file = match content.msgtype {
            MessageType::File(file) => Some(file.source),
            MessageType::Image(image) => Some(image.source),
            _ => None,
        };
        self.messages.insert(id, Shown { sender, text, html, thread, reply_to, edits: 0, file, encrypted });
    }
}

fn text_of(message: &MessageType) -> (String, Option<String>) {
    let html = match message {
        MessageType::Text(text) => text.formatted.as_ref().map(|formatted| formatted.body.clone()),
        _ => None,
    };
    (message.body().to_owned(), html)
}

/// A person.
pub(crate) struct Person {
    pub(crate) id: OwnedUserId,
    client: Client,
    seen: Arc<Mutex<Seen>>,
    changed: watch::Receiver<u64>,
    listening: JoinHandle<()>,
}

impl Drop for Person {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Person {
    pub(crate) async fn new(name: &str) -> Self {
        let client = Client::builder().homeserver_url(&synapse().await.url).build().await.unwrap();
        let id = client.matrix_auth().register(registration(&fresh_name(name))).await.unwrap().user_id;
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let (tell, changed) = watch::channel(0);
        let listening = tokio::spawn(listen(client.clone(), Arc::clone(&seen), tell));
        Self { id, client, seen, changed, listening }
    }

    /// Another client of the same homeserver that is not logged in.
    pub(crate) async fn homeserver_client(&self) -> Client {
        Client::builder().homeserver_url(self.client.homeserver()).build().await.unwrap()
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Waits until something is seen.
    pub(crate) async fn waits<T>(&self, what: &str, found: impl Fn(&Seen) -> Option<T>) -> T {
        let mut changed = self.changed.clone();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = found(&self.seen()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(TIMEOUT, waiting).await;
        waited.unwrap_or_else(|_| panic!("{} did not see {what}: {:#?}", self.id, self.seen().messages))
    }

    /// Waits for a message of another sender.
    pub(crate) async fn sees(&self, what: &str, wanted: impl Fn(&Shown) -> bool) -> (OwnedEventId, Shown) {
        let found = |seen: &Seen| {
            let others = seen.messages.iter().filter(|(_, shown)| shown.sender != self.id);
            others.filter(|(_, shown)| wanted(shown)).map(|(id, shown)| (id.clone(), shown.clone())).next()
        };
        self.waits(what, found).await
    }

    /// The texts of a sender, as they are shown now.
    pub(crate) fn texts_of(&self, sender: &UserId) -> Vec<String> {
        let seen = self.seen();
        seen.messages
            .values()
            .filter(|shown| shown.sender == sender)
            .map(|shown| shown.text.clone())
            .collect()
    }

    /// The number of messages of a sender.
    pub(crate) fn count_of(&self, sender: &UserId) -> usize {
        self.texts_of(sender).len()
    }

    /// Creates a room and invites these people.
    pub(crate) async fn makes_room(&self, encrypted: bool, invited: &[&UserId]) -> Room {
        let mut request = create_room::v3::Request::new();
        request.preset = Some(create_room::v3::RoomPreset::PrivateChat);
        request.invite = invited.iter().map(|person| (*person).to_owned()).collect();
        if encrypted {
            let content = RoomEncryptionEventContent::with_recommended_defaults();
            request.initial_state = vec![InitialStateEvent::with_empty_state_key(content).to_raw_any()];
        }
        self.client.create_room(request).await.unwrap()
    }

    pub(crate) async fn joins(&self, room: &Room) {
        self.client.join_room_by_id(room.room_id()).await.unwrap();
    }

    pub(crate) async fn sees_joined(&self, room: &Room, who: &UserId) {
        let who = (room.room_id().to_owned(), who.to_owned());
        self.waits("a person joining", |seen| seen.joined.contains(&who).then_some(())).await;
    }

    pub(crate) fn room(&self, room: &Room) -> Room {
        self.client.get_room(room.room_id()).unwrap()
    }

    pub(crate) async fn says(&self, room: &Room, text: &str) -> OwnedEventId {
        self.sends(room, RoomMessageEventContent::text_plain(text)).await
    }

    pub(crate) async fn sends(&self, room: &Room, content: RoomMessageEventContent) -> OwnedEventId {
        self.room(room).send(content).await.unwrap().response.event_id
    }

    pub(crate) async fn says_in_thread(&self, room: &Room, root: &OwnedEventId, text: &str) -> OwnedEventId {
        let mut content = RoomMessageEventContent::text_plain(text);
        content.relates_to = Some(Relation::Thread(Thread::plain(root.clone(), root.clone())));
        self.sends(room, content).await
    }

    pub(crate) async fn replies(&self, room: &Room, to: &OwnedEventId, text: &str) -> OwnedEventId {
        let mut content = RoomMessageEventContent::text_plain(text);
        content.relates_to = Some(Relation::Reply(Reply::with_event_id(to.clone())));
        self.sends(room, content).await
    }

    pub(crate) async fn changes(&self, room: &Room, message: &OwnedEventId, text: &str) {
        let mut content = RoomMessageEventContent::text_plain(format!("* {text}"));
        let new = RoomMessageEventContent::text_plain(text).into();
        content.relates_to = Some(Relation::Replacement(Replacement::new(message.clone(), new)));
        self.sends(room, content).await;
    }

    /// Gives a person all rights in a room, including the right to upgrade it.
    pub(crate) async fn makes_admin(&self, room: &Room, who: &UserId) {
        let room = self.room(room);
        room.update_power_levels(vec![(who, matrix_sdk::ruma::int!(150))]).await.unwrap();
    }

    /// Upgrades a room, as people do in its settings.
    pub(crate) async fn upgrades(&self, room: &Room) -> Room {
        let version = room.version().unwrap_or(matrix_sdk::ruma::RoomVersionId::V10);
        let request = upgrade_room::v3::Request::new(room.room_id().to_owned(), version);
        let new = self.client.send(request).await.unwrap().replacement_room;
        self.waits("the new room", |_| self.client.get_room(&new)).await
    }

    pub(crate) async fn reacts(&self, room: &Room, to: &OwnedEventId, key: &str) {
        let content = ReactionEventContent::new(Annotation::new(to.clone(), key.to_owned()));
        self.room(room).send(content).await.unwrap();
    }

    pub(crate) async fn sends_picture(&self, room: &Room, data: &[u8], caption: &str) -> OwnedEventId {
        let config = AttachmentConfig::new().caption(Some(TextMessageEventContent::plain(caption)));
        let room = self.room(room);
        room.send_attachment("cat.png", &mime::IMAGE_PNG, data.to_vec(), config).await.unwrap().event_id
    }

    pub(crate) async fn opens(&self, source: MediaSource) -> Vec<u8> {
        let request = MediaRequestParameters { source, format: MediaFormat::File };
        self.client.media().get_media_content(&request, false).await.unwrap()
    }
}

async fn listen(client: Client, seen: Arc<Mutex<Seen>>, tell: watch::Sender<u64>) {
    loop {
        let Ok(response) = client.sync_once(SyncSettings::new().timeout(Duration::from_secs(10))).await
        else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let mut events = std::mem::take(&mut seen.lock().unwrap().waiting);
        for (room, update) in response.rooms.joined {
            events.extend(update.timeline.events.into_iter().map(|event| (room.clone(), event)));
        }
        for (room_id, mut event) in events {
            let Some(room) = client.get_room(&room_id) else { continue };
            if let TimelineEventKind::UnableToDecrypt { event: raw, .. } = &event.kind {
                match room.decrypt_event(raw.cast_ref_unchecked(), None).await {
                    Ok(decrypted) if !decrypted.kind.is_utd() => event = decrypted,
                    _ => {
                        seen.lock().unwrap().waiting.push((room_id, event));
                        continue;
                    }
                }
            }
            seen.lock().unwrap().take(&room, &event);
        }
        tell.send_modify(|count| *count += 1);
    }
}
