//! The other side of what a program sends: a server that accepts everything, and one that is not there.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use super::request::RequestReader;

/// An address on loopback that was free a moment ago.
///
/// # Errors
/// If there is none.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Answers each request with 200 and an empty object until the test ends. Returns the URL and the bodies received.
///
/// # Errors
/// If no port can be opened.
pub fn receive_bodies() -> io::Result<(String, mpsc::Receiver<Vec<u8>>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    let (sender, bodies) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that disconnects early does not matter.
            let _ = receive(stream, &sender);
        }
    });
    Ok((url, bodies))
}

/// Passes the body on before it answers, so that it has arrived when the client continues.
fn receive(stream: TcpStream, bodies: &mpsc::Sender<Vec<u8>>) -> io::Result<()> {
    let mut answer = stream.try_clone()?;
    let Some(request) = RequestReader::new(stream).next_request()? else { return Ok(()) };
    // A test may not look at them.
    let _ = bodies.send(request.body);
    answer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
}
