//! Finds the bytes that matter inside a JSON string.
//!
//! Most of a transcript is string contents, so these loops decide the decoder's speed. They look at up to 64
//! bytes at a time: with AVX-512 or AVX2 if the processor has it, with SSE2 on every other x86-64, and
//! elsewhere in a loop that compilers vectorise themselves.

/// Position of the first `"` or `\` at or after `from`.
#[inline]
pub(super) fn quote_or_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let (quotes, backslashes) = masks16(chunk);
        let hits = quotes | backslashes;
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize);
        }
        at += 16;
    }
    let tail = bytes.get(at..)?;
    tail.iter().position(|&byte| byte == b'"' || byte == b'\\').map(|offset| at + offset)
}

/// Position of the first `"` at or after `from` that is not escaped. `from` must not be inside an escape.
pub(super) fn closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512bw") {
        #[expect(unsafe_code, reason = "calling a vector function needs proof that the processor has it")]
        // SAFETY: the feature was detected just above.
        return unsafe { avx512_closing_quote(bytes, from) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "calling a vector function needs proof that the processor has it")]
        // SAFETY: the feature was detected just above.
        return unsafe { avx2_closing_quote(bytes, from) };
    }
    closing_quote_by(bytes, from, masks64)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw")]
fn avx512_closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
    closing_quote_by(bytes, from, |chunk| avx512_masks64(chunk))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2_closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
    closing_quote_by(bytes, from, |chunk| avx2_masks64(chunk))
}

/// The search, given a function that computes the masks. Inlined, so that it is compiled with the caller's
/// target features.
#[inline(always)]
fn closing_quote_by(bytes: &[u8], from: usize, masks: impl Fn(&[u8; 64]) -> (u64, u64)) -> Option<usize> {
    let mut at = from;
    let mut escapes = Escapes::default();
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<64>()) {
        let closing = escapes.closing_quotes(masks(chunk));
        if closing != 0 {
            return Some(at + closing.trailing_zeros() as usize);
        }
        at += 64;
    }
    let tail = bytes.get(at..)?;
    let mut padded = [0; 64];
    padded.get_mut(..tail.len())?.copy_from_slice(tail);
    let closing = escapes.closing_quotes(masks(&padded));
    (closing != 0).then(|| at + closing.trailing_zeros() as usize)
}

/// Tracks escapes from one block of 64 bytes to the next.
#[derive(Default)]
struct Escapes {
    /// One if the first byte of the next block is escaped by the last of this one.
    carry: u64,
}

impl Escapes {
    /// One bit for each unescaped quote.
    #[inline(always)]
    fn closing_quotes(&mut self, (quotes, backslashes): (u64, u64)) -> u64 {
        if backslashes == 0 {
            let closing = quotes & !self.carry;
            self.carry = 0;
            return closing;
        }
        quotes & !self.escaped(backslashes)
    }

    /// One bit for each byte that a backslash escapes, without a branch for each: a run of backslashes escapes
    /// the byte after it if its length is odd, and adding the run's first bit to the run carries out at its
    /// end, where the parity of the position gives the parity of the length.
    #[inline(always)]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslashes = backslashes & !self.carry;
        let follows = (backslashes << 1) | self.carry;
        let odd_starts = backslashes & !EVEN & !follows;
        let (ends, overflow) = odd_starts.overflowing_add(backslashes);
        self.carry = u64::from(overflow);
        (EVEN ^ (ends << 1)) & follows
    }
}

#[inline]
fn masks64(chunk: &[u8; 64]) -> (u64, u64) {
    let mut masks = (0, 0);
    let (quarters, _) = chunk.as_chunks::<16>();
    for (number, quarter) in quarters.iter().enumerate() {
        let (quotes, backslashes) = masks16(quarter);
        masks.0 |= u64::from(quotes) << (16 * number);
        masks.1 |= u64::from(backslashes) << (16 * number);
    }
    masks
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512bw")]
fn avx512_masks64(chunk: &[u8; 64]) -> (u64, u64) {
    use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_set_epi64, _mm512_set1_epi8};
    let (words, _) = chunk.as_chunks::<8>();
    let &[a, b, c, d, e, f, g, h] = words else {
        return (0, 0);
    };
    let [a, b, c, d, e, f, g, h] = [a, b, c, d, e, f, g, h].map(i64::from_le_bytes);
    let block = _mm512_set_epi64(h, g, f, e, d, c, b, a);
    let quotes = _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(b'"' as i8));
    (quotes, _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(b'\\' as i8)))
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_masks64(chunk: &[u8; 64]) -> (u64, u64) {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8};
    let mut masks = (0, 0);
    let (words, _) = chunk.as_chunks::<8>();
    let (halves, _) = words.as_chunks::<4>();
    for (number, half) in halves.iter().enumerate() {
        let [a, b, c, d] = half.map(i64::from_le_bytes);
        let block = _mm256_set_epi64x(d, c, b, a);
        let mask = |byte: u8| {
            let hits = _mm256_cmpeq_epi8(block, _mm256_set1_epi8(byte as i8));
            u64::from(_mm256_movemask_epi8(hits) as u32) << (32 * number)
        };
        masks.0 |= mask(b'"');
        masks.1 |= mask(b'\\');
    }
    masks
}

/// One bit for each byte that is a quote, and one for each that is a backslash.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
#[expect(unsafe_code, reason = "calling a vector function needs proof that the processor has it")]
pub(super) fn masks16(chunk: &[u8; 16]) -> (u32, u32) {
    // SAFETY: this is compiled only for targets on which every processor has SSE2.
    unsafe { sse2_masks16(chunk) }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
#[target_feature(enable = "sse2")]
fn sse2_masks16(chunk: &[u8; 16]) -> (u32, u32) {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let whole = u128::from_le_bytes(*chunk);
    // Built from two integers because a load through a pointer would be unsafe; it compiles to one load.
    let block = _mm_set_epi64x((whole >> 64) as i64, whole as i64);
    let quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8)));
    let backslashes = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8)));
    (quotes as u32, backslashes as u32)
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline]
pub(super) fn masks16(chunk: &[u8; 16]) -> (u32, u32) {
    portable_masks16(chunk)
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
#[inline]
fn portable_masks16(chunk: &[u8; 16]) -> (u32, u32) {
    let mut masks = (0, 0);
    for (at, &byte) in chunk.iter().enumerate() {
        masks.0 |= u32::from(byte == b'"') << at;
        masks.1 |= u32::from(byte == b'\\') << at;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive_closing_quote(bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            match bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    fn stringy_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![6 => any::<u8>(), 1 => Just(b'"'), 3 => Just(b'\\'), 6 => Just(b'x')];
        proptest::collection::vec(byte, 0..300)
    }

    proptest! {
        #[test]
        fn finds_the_same_byte_as_the_naive_search(bytes in stringy_bytes(), from in 0usize..310) {
            let naive = bytes.iter().enumerate().skip(from).find(|(_, b)| matches!(b, b'"' | b'\\'));
            prop_assert_eq!(quote_or_backslash(&bytes, from), naive.map(|(at, _)| at));
        }

        #[test]
        fn finds_the_same_closing_quote_as_the_naive_search(bytes in stringy_bytes(), from in 0usize..310) {
            let naive = naive_closing_quote(&bytes, from);
            prop_assert_eq!(closing_quote(&bytes, from), naive);
            prop_assert_eq!(closing_quote_by(&bytes, from, masks64), naive);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(unsafe_code, reason = "calling a vector function needs proof that the processor has it")]
                // SAFETY: the feature was detected just above.
                let found = unsafe { avx2_closing_quote(&bytes, from) };
                prop_assert_eq!(found, naive);
            }
        }

        #[test]
        fn long_runs_of_backslashes_are_counted_across_blocks(before in 0usize..200, run in 0usize..200) {
            let mut bytes = vec![b'x'; before];
            bytes.extend(std::iter::repeat_n(b'\\', run));
            bytes.extend_from_slice(b"\"yyyyy\"");
            prop_assert_eq!(closing_quote(&bytes, 0), naive_closing_quote(&bytes, 0));
        }

        #[test]
        fn the_portable_search_agrees(chunk in proptest::array::uniform16(prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\')])) {
            prop_assert_eq!(portable_masks16(&chunk), masks16(&chunk));
        }
    }
}
