//! Returns free space inside the file to the disk, a little at a time.

use rusqlite::Connection;

use super::disk::Disk;
use super::open::Database;
use crate::space::Usage;

/// Pages moved at a time: the write-ahead log grows by about as many.
const STEP_PAGES: u32 = 256;
/// Free pages kept for the next writes, unless the disk is full.
const KEPT_PAGES: i64 = 1024;

/// Gives some of the free space back to the disk. Returns whether there may be more.
pub(super) fn step(connection: &Connection, is_disk_full: bool) -> rusqlite::Result<bool> {
    let before = free_pages(connection)?;
    let kept = if is_disk_full { 0 } else { KEPT_PAGES };
    if before <= kept || !can_shrink(connection)? {
        return Ok(false);
    }
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let mut rows = statement.query([])?;
    // Each row is a page.
    while rows.next()?.is_some() {}
    let after = free_pages(connection)?;
    Ok(after > kept && after < before)
}

/// Whether the file was created so that it can shrink. Older files cannot, until they are compacted.
pub(super) fn can_shrink(connection: &Connection) -> rusqlite::Result<bool> {
    connection.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0)).map(|mode| mode == 2)
}

/// Free space inside the file that cannot be returned to the disk.
pub(super) fn unreturnable(connection: &Connection) -> rusqlite::Result<u64> {
    if can_shrink(connection)? {
        return Ok(0);
    }
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(super::rows::unsigned(free_pages(connection)?.saturating_mul(page)))
}

fn free_pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "freelist_count", |row| row.get(0))
}

/// The space that the file and its side files take.
pub(super) fn usage(connection: &Connection, disk: &Disk, database: &Database) -> rusqlite::Result<Usage> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let page = number("page_size")?;
    let (pages, free) = (number("page_count")?, number("freelist_count")?);
    let bytes = |pages: i64| u64::try_from(pages.saturating_mul(page)).unwrap_or(0);
    Ok(Usage {
        used: bytes(pages - free),
        free: bytes(free),
        wal: database.wal_length(),
        reserve: disk.reserve(),
        available: disk.available(),
        is_deleting: super::write::trash(connection)?.is_some(),
    })
}
