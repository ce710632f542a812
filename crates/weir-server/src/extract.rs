//! Request extractors. Unlike axum's own, these refuse with a [`Problem`] that says where the error is.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::problem::Problem;
use crate::serve::BodyTooSlow;

/// A JSON body. The types themselves refuse unknown fields.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = content_type.and_then(|text| text.split(';').next()).unwrap_or_default();
        if !media_type.trim().eq_ignore_ascii_case("application/json") {
            let detail = "send the body as JSON, with the header Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail));
        }
        let bytes = body(request, state).await?;
        parse(&bytes).map(Self)
    }
}

/// An optional JSON body.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if request.headers().contains_key(header::CONTENT_TYPE) {
            let body: Json<Option<T>> = Json::from_request(request, state).await?;
            return Ok(Self(body.0.unwrap_or_default()));
        }
        if body(request, state).await?.is_empty() {
            return Ok(Self(T::default()));
        }
        let detail = "send the body as JSON, with the header Content-Type: application/json, or send no body";
        Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail))
    }
}

async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        let status = rejection.status();
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            Problem::new(status, "too_large", "the body is larger than the server accepts")
        } else if is_too_slow(&rejection) {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time")
        } else {
            Problem::bad_request("body", "the body ended before it was complete")
        }
    })
}

fn is_too_slow(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(<dyn std::error::Error>::is::<BodyTooSlow>)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Serde would read a list as an object with its fields in order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(match serde_json::from_slice::<IgnoredAny>(bytes) {
            Ok(_) => Problem::unprocessable("json_shape", "the body must be a JSON object").with("path", "."),
            Err(error) => Problem::bad_request("json_syntax", format!("the body is not JSON: {error}")),
        });
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        // The parser reports some valid JSON, such as a null in place of a name, as a syntax error.
        if !error.is_data() && serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
            return Problem::bad_request("json_syntax", format!("the body is not JSON: {error}"));
        }
        wrong_shape(path, &error)
    })?;
    reader
        .end()
        .map_err(|error| Problem::bad_request("json_syntax", format!("the body is not JSON: {error}")))?;
    Ok(value)
}

/// Fields of a body that belong to a part of it. Like for the body itself, an error says where it is.
pub(crate) fn part<T: DeserializeOwned>(fields: serde_json::Map<String, Value>) -> Result<T, Problem> {
    let known = fields_of::<T>();
    if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        let error = serde::de::Error::unknown_field(unknown, known);
        return Err(wrong_shape(unknown.clone(), &error));
    }
    serde_path_to_error::deserialize(Value::Object(fields))
        .map_err(|error| wrong_shape(error.path().to_string(), error.inner()))
}

/// The names of the fields of a type, as its `Deserialize` knows them.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Fields<'f>(&'f mut &'static [&'static str]);

    impl<'de> serde::Deserializer<'de> for Fields<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("only the names of fields are wanted"))
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    // It always fails, after it has said which fields there are.
    let _ = T::deserialize(Fields(&mut fields));
    fields
}

fn wrong_shape(path: String, error: &serde_json::Error) -> Problem {
    let place = if path == "." { String::new() } else { format!("{path}: ") };
    Problem::unprocessable("json_shape", format!("{place}{error}")).with("path", path)
}

/// The query string.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let query = query.map_err(|rejection| Problem::bad_request("query", rejection.body_text()))?;
        Ok(Self(query.0))
    }
}

/// The variable parts of a path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        // A path that cannot be decoded matches nothing.
        let path = path.map_err(|_| Problem::not_found("nothing found at this address"))?;
        Ok(Self(path.0))
    }
}
