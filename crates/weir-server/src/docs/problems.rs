//! The errors that operations have in common: what guards and extractors answer before a handler is called. Which ones
//! an operation can have follows from its parameters, so no handler declares them.

use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

use crate::problem;

/// Adds the errors that an operation can return and does not describe itself.
pub(super) fn add(operation: &mut Operation) {
    let is_open = operation.security == Some(vec![SecurityRequirement::default()]);
    let is_openai = operation.tags.iter().flatten().any(|tag| tag == "openai");
    let takes = |place: ParameterIn| {
        let mut parameters = operation.parameters.iter().flatten();
        parameters.any(|parameter| matches!(parameter, RefOr::T(one) if one.parameter_in == place))
    };
    let (has_path, has_query) = (takes(ParameterIn::Path), takes(ParameterIn::Query));
    let has_body = operation.request_body.is_some();
    let mut add_if = |applies: bool, status: &str, description: &str, schemas: &[(&str, &str)]| {
        if applies {
            let response = || RefOr::T(response(description, schemas));
            operation.responses.responses.entry(status.to_owned()).or_insert_with(response);
        }
    };
    let mut openai = |applies: bool, status: &str, description: &str| {
        add_if(
            is_openai && applies,
            status,
            description,
            &[("application/json", "OpenAiProblem"), (problem::MEDIA_TYPE, "Problem")],
        );
    };
    // Requests that are refused before they are read get the usual problems.
    openai(true, "401", "The token is missing or invalid.");
    openai(true, "403", "The request came from a page of another origin, or the token may not do this.");
    openai(true, "429", "Too many requests, the server is busy, or a budget is spent.");
    openai(true, "500", "Internal server error.");
    openai(true, "503", "The model is overloaded, or the server is shutting down.");
    openai(has_path || has_body, "404", "No such model, session or response.");
    openai(has_body, "400", "The request cannot be understood or honoured; `param` says where.");
    openai(has_body, "413", "The body is too large.");
    openai(has_body, "502", "The agent could not answer.");
    openai(has_body, "504", "The agent took too long.");
    let mut usual = |applies: bool, status: &str, description: &str| {
        add_if(applies, status, description, &[(problem::MEDIA_TYPE, "Problem")]);
    };
    usual(true, "400", "The request cannot be understood.");
    usual(true, "403", "The request came from a page of another origin, or the token may not do this.");
    usual(true, "408", "The request took too long.");
    usual(true, "421", "The server does not answer to this host name.");
    usual(true, "500", "Internal server error.");
    usual(!is_open, "401", "The token is missing or invalid.");
    usual(!is_open, "429", "Too many requests.");
    usual(!is_open, "503", "The server is too busy, or shutting down.");
    usual(has_query, "422", "A value in the query is invalid.");
    usual(has_path, "404", "Not found, or not visible to this token.");
    usual(has_path || has_body, "409", "The request conflicts with the current state.");
    usual(has_path, "502", "The CLI failed to do it.");
    usual(has_body, "413", "The body is too large.");
    usual(has_body, "415", "The body is not JSON.");
    usual(has_body, "422", "A value in the body is invalid.");
}

/// An error with a body of these media types and schemas.
fn response(description: &str, schemas: &[(&str, &str)]) -> Response {
    let mut response = ResponseBuilder::new().description(description);
    for (media_type, schema) in schemas {
        response = response.content(*media_type, Content::new(Some(Ref::from_schema_name(*schema))));
    }
    response.build()
}
