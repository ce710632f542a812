//! Servers, and logs on them.

use tokio::runtime::Runtime;
use weir_jetstream::{ClusterError, JetStreamLog, JetStreamOptions};
use weir_store::{Append, Log, NewEvent, NewStoredSession, ReadQuery, SessionId, StoreError};
use weir_testkit::nats::Nats;

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn options(nats: &Nats, nodes: usize) -> JetStreamOptions {
    let mut options = JetStreamOptions::new(nats.urls());
    options.replicas = if nodes == 1 { 1 } else { 3 };
    options.monitors = (0..nodes).filter_map(|node| nats.monitor(node)).collect();
    options.start_timeout = std::time::Duration::from_secs(60);
    options
}

pub(crate) fn open(runtime: &Runtime, options: JetStreamOptions) -> Result<JetStreamLog, ClusterError> {
    runtime.block_on(JetStreamLog::open(options))
}

pub(crate) fn create(log: &dyn Log) -> SessionId {
    let id = SessionId::random();
    log.create(NewStoredSession::new(id.clone(), 1)).wait().unwrap();
    id
}

pub(crate) fn append(
    log: &dyn Log,
    session: &SessionId,
    generation: u64,
    text: &str,
) -> Result<u64, StoreError> {
    let event = NewEvent::new(1, "line", text.as_bytes().to_vec());
    let append = Append { generation, ..Append::new(session.clone(), vec![event]) };
    log.append(append).wait().map(|appended| appended.newest)
}

/// The whole log. Also checks that its numbers have no gaps.
pub(crate) fn whole_log(log: &dyn Log, session: &SessionId) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = log.read(ReadQuery::after(session.clone(), found.len() as u64)).wait().unwrap();
        for event in page.events {
            assert_eq!(event.seq, found.len() as u64 + 1);
            found.push(String::from_utf8(event.payload).unwrap());
        }
        if !page.more {
            assert_eq!(page.newest, found.len() as u64);
            return found;
        }
    }
}
