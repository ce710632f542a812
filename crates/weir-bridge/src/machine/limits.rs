//! Rate limits for messages. Two windows: one against bursts, one against programs that answer everything we post.

use std::collections::{HashMap, VecDeque};

use crate::channel::{ChannelName, ChatId, Place, UserId};

const MINUTE: i64 = 60_000;
const TEN_MINUTES: i64 = 10 * MINUTE;

/// What to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is within the limits.
    Fine,
    /// It exceeds a limit, and its sender has to be told.
    Tell(Excess),
    /// It exceeds a limit, and its sender has been told already.
    Silent(Excess),
}

/// Which limit was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// Too many messages in a minute.
    Hasty,
    /// Too many messages in ten minutes, probably two programs answering each other.
    Loop,
}

#[derive(Debug, Default)]
struct Talk {
    times: VecDeque<i64>,
    told: Option<(Excess, i64)>,
}

/// Recent messages per sender and chat.
#[derive(Debug, Default)]
pub(super) struct Limits {
    talks: HashMap<(ChannelName, ChatId, UserId), Talk>,
}

impl Limits {
    /// Counts a message and decides what to do with it.
    pub(super) fn take(
        &mut self,
        place: &Place,
        sender: &UserId,
        now: i64,
        per_minute: u32,
        per_ten: u32,
    ) -> Verdict {
        // Forget inactive senders, so that memory stays bounded.
        if self.talks.len() > 1_000 {
            self.talks.retain(|_, talk| talk.times.back().is_some_and(|last| now - last < TEN_MINUTES));
        }
        let key = (place.channel.clone(), place.chat.clone(), sender.clone());
        let talk = self.talks.entry(key).or_default();
        while talk.times.front().is_some_and(|first| now - first >= TEN_MINUTES) {
            talk.times.pop_front();
        }
        let in_minute = talk.times.iter().rev().take_while(|time| now - **time < MINUTE).count();
        let excess = if talk.times.len() >= usize::try_from(per_ten).unwrap_or(usize::MAX) {
            Some((Excess::Loop, TEN_MINUTES))
        } else if in_minute >= usize::try_from(per_minute).unwrap_or(usize::MAX) {
            Some((Excess::Hasty, MINUTE))
        } else {
            None
        };
        match excess {
            None => {
                talk.times.push_back(now);
                Verdict::Fine
            }
            Some((excess, window)) => {
                let knows = talk.told.is_some_and(|(told, at)| told == excess && now - at < window);
                if knows {
                    return Verdict::Silent(excess);
                }
                talk.told = Some((excess, now));
                Verdict::Tell(excess)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Excess, Limits, Verdict};
    use crate::channel::Place;

    #[test]
    fn tells_once_for_each_window() {
        let place = Place { channel: "c".into(), chat: "1".into(), thread: None };
        let mut limits = Limits::default();
        let mut take = |now| limits.take(&place, &"u".into(), now, 2, 4);
        assert_eq!(
            [take(0), take(1), take(2), take(3)],
            [Verdict::Fine, Verdict::Fine, Verdict::Tell(Excess::Hasty), Verdict::Silent(Excess::Hasty)]
        );
        assert_eq!([take(60_001), take(60_002)], [Verdict::Fine, Verdict::Fine]);
        assert_eq!(
            [take(130_000), take(130_001)],
            [Verdict::Tell(Excess::Loop), Verdict::Silent(Excess::Loop)]
        );
        assert_eq!(take(660_003), Verdict::Fine);
    }
}
