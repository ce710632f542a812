//! What belongs to a session apart from its log: checkpoints and blobs.

use weir_store::{Checkpoint, CheckpointQuery, Log, NewStoredSession, SessionId, StoreError};

use crate::Outcome;
use crate::support::create;

fn checkpoint(seq: u64, version: &str, mark: u64) -> Checkpoint {
    Checkpoint { seq, version: version.to_owned(), mark, data: format!("{version} at {seq}").into_bytes() }
}

pub(crate) fn the_newest_matching_checkpoint_is_found(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let find =
        |query: CheckpointQuery| Ok::<_, StoreError>(log.checkpoint(query).wait()?.map(|found| found.seq));
    let newest = CheckpointQuery::newest(one.clone(), "1");
    assert_eq!(find(newest.clone())?, None);
    for (seq, mark) in [(10, 1), (30, 25), (20, 8)] {
        log.save_checkpoint(one.clone(), checkpoint(seq, "1", mark)).wait()?;
    }
    assert_eq!(find(newest.clone())?, Some(30));
    assert_eq!(find(CheckpointQuery { seq_at_most: 29, ..newest.clone() })?, Some(20));
    assert_eq!(find(CheckpointQuery { mark_at_most: 24, ..newest.clone() })?, Some(20));
    assert_eq!(find(CheckpointQuery { mark_at_most: 0, ..newest.clone() })?, None);
    assert_eq!(find(CheckpointQuery::newest(one.clone(), "2"))?, None);
    assert_eq!(find(CheckpointQuery::newest(SessionId::random(), "1"))?, None);

    // The same event again, and another version, which replaces all others.
    let again = Checkpoint { data: b"again".to_vec(), ..checkpoint(30, "1", 25) };
    log.save_checkpoint(one.clone(), again.clone()).wait()?;
    assert_eq!(log.checkpoint(newest.clone()).wait()?, Some(again));
    log.save_checkpoint(one.clone(), checkpoint(5, "2", 1)).wait()?;
    assert_eq!(find(newest)?, None);
    assert_eq!(find(CheckpointQuery::newest(one, "2"))?, Some(5));
    let nowhere = log.save_checkpoint(SessionId::random(), checkpoint(5, "2", 1)).wait();
    assert!(matches!(nowhere, Err(StoreError::NotFound(_))));
    Ok(())
}

pub(crate) fn a_checkpoint_may_be_large(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let large = Checkpoint {
        data: (0..3_u32 << 20).map(|place| (place % 253) as u8).collect(),
        ..checkpoint(7, "1", 1)
    };
    log.save_checkpoint(one.clone(), large.clone()).wait()?;
    let found = log.checkpoint(CheckpointQuery::newest(one, "1")).wait()?;
    assert!(found == Some(large));
    Ok(())
}

pub(crate) fn blobs_are_kept_and_replaced(log: &dyn Log) -> Outcome {
    let (one, other) = (create(log)?, create(log)?);
    let put = |name: &str, data: &[u8]| log.put_blob(one.clone(), name.to_owned(), data.to_vec()).wait();
    let get = |session: &SessionId, name: &str| log.blob(session.clone(), name.to_owned()).wait();
    assert_eq!(get(&one, "history")?, None);
    put("history", b"first")?;
    put("empty", b"")?;
    let large: Vec<u8> = (0..2_u32 << 20).map(|place| (place % 241) as u8).collect();
    put("large.tar", &large)?;
    put("history", b"second")?;
    assert_eq!(get(&one, "history")?.as_deref(), Some(&b"second"[..]));
    assert_eq!(get(&one, "empty")?.as_deref(), Some(&b""[..]));
    assert!(get(&one, "large.tar")? == Some(large));
    assert_eq!(get(&other, "history")?, None);
    assert!(matches!(put("../x", b""), Err(StoreError::Invalid(_))));
    let nowhere = log.put_blob(SessionId::random(), "x".to_owned(), Vec::new()).wait();
    assert!(matches!(nowhere, Err(StoreError::NotFound(_))));
    assert!(matches!(get(&SessionId::random(), "x"), Err(StoreError::NotFound(_))));
    Ok(())
}

pub(crate) fn parts_are_deleted_with_their_session(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    log.save_checkpoint(one.clone(), checkpoint(5, "1", 1)).wait()?;
    log.put_blob(one.clone(), "file".to_owned(), vec![1]).wait()?;
    assert!(log.delete(one.clone()).wait()?);
    log.create(NewStoredSession::new(one.clone(), 2)).wait()?;
    assert_eq!(log.checkpoint(CheckpointQuery::newest(one.clone(), "1")).wait()?, None);
    assert_eq!(log.blob(one, "file".to_owned()).wait()?, None);
    Ok(())
}
