//! Spans reach a collector.

#![cfg(feature = "otlp")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use weir_server::{LogFormat, Telemetry, start_telemetry};

#[test]
fn spans_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let received = std::thread::spawn(move || {
        let (mut stream, _) = collector.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.windows(14).any(|part| part == b"counted-things") {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the spans did not come: {}", String::from_utf8_lossy(&request));
            request.extend(buffer.iter().take(count));
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        String::from_utf8_lossy(&request).into_owned()
    });
    let settings = Telemetry {
        format: LogFormat::Json,
        filter: "info".to_owned(),
        otlp: Some(format!("http://{address}/v1/traces")),
    };
    let guard = start_telemetry(&settings).unwrap();
    tracing::info_span!("counted-things").in_scope(|| {});
    drop(guard);
    assert!(received.join().unwrap().starts_with("POST /v1/traces"));
}
