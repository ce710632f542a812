//! `-o raw`: the input comes out unchanged, whatever it is.

use crate::support::{Done, INIT, captures, file_of, replay_file, replay_input};

fn assert_untouched(done: &Done, bytes: &[u8], what: &str) {
    assert!(
        done.stdout == bytes,
        "{what}: {} bytes became {}; {}",
        bytes.len(),
        done.stdout.len(),
        done.stderr
    );
}

#[test]
fn every_capture_comes_out_as_it_went_in() {
    for path in captures() {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.display().to_string();
        assert_untouched(&replay_file(&["-o", "raw"], &path), &bytes, &name);
        assert_untouched(&replay_input(&["-o", "raw", "-"], &bytes), &bytes, &name);
        let fast = ["-o", "raw", "--speed", "1000000"];
        assert_untouched(&replay_file(&fast, &path), &bytes, &name);
        let short = ["-o", "raw", "--line-limit", "300"];
        assert_untouched(&replay_file(&short, &path), &bytes, &name);
    }
}

#[test]
fn odd_bytes_come_out_as_they_went_in() {
    let long = [b"{\"type\":\"system\",\"x\":\"", &[b'y'; 700_000][..], b"\"}"].concat();
    let streams: [&[u8]; 12] = [
        b"",
        b"\n",
        b"\r\n\r\n",
        b"no line feed",
        INIT.as_bytes(),
        b"{\"type\":\"system\"}\r\n{\"type\":\"system\"}\r",
        b"\0\0\n\0{\"type\":\"\0\"}\n\0",
        b"\xff\xfe{\"type\":\"\xc3\"}\n\xf0\x9f\x98",
        b"\xef\xbb\xbf{\"type\":\"system\"}\n",
        b"\x1b[?25h{\"type\":\"system\"}\x1b[0m\n\x1b]0;title\x07\n",
        b"\n\n\n{}\n \t \n\n",
        &long,
    ];
    for bytes in streams {
        let head = bytes.get(..40).unwrap_or(bytes);
        let what = String::from_utf8_lossy(head);
        let (_folder, path) = file_of(bytes);
        for more in [&[][..], &["--speed", "1000000"], &["--line-limit", "5"]] {
            let args = [&["-o", "raw"], more].concat();
            assert_untouched(&replay_file(&args, &path), bytes, &what);
            assert_untouched(&replay_input(&args, bytes), bytes, &what);
        }
        let both = ["-o", "raw", "--speed", "1000000", "--line-limit", "5"];
        assert_untouched(&replay_input(&both, bytes), bytes, &what);
    }
}
