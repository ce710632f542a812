//! OpenAPI schemas for the types whose schema is not derived.

use std::borrow::Cow;

use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::{OwnedJson, OwnedText, Question, QuestionOption};

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

impl PartialSchema for OwnedJson {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("Any JSON value.")).into()
    }
}

impl ToSchema for OwnedJson {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Json")
    }
}

impl PartialSchema for OwnedText {
    fn schema() -> RefOr<Schema> {
        text("A string.").into()
    }
}

impl ToSchema for OwnedText {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Text")
    }
}

impl PartialSchema for QuestionOption {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .description(Some("A choice."))
            .property("label", text("The choice."))
            .required("label")
            .property("description", text("What the choice means."))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for QuestionOption {}

impl PartialSchema for Question {
    fn schema() -> RefOr<Schema> {
        let choices = ArrayBuilder::new()
            .items(Ref::from_schema_name(QuestionOption::name()))
            .description(Some("The choices."));
        let several = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .description(Some("Whether more than one choice is allowed."));
        ObjectBuilder::new()
            .description(Some("A question with its choices."))
            .property("question", text("The question."))
            .required("question")
            .property("header", text("A label of a word or two for the question."))
            .property("options", choices)
            .property("multiSelect", several)
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for Question {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((QuestionOption::name().into_owned(), QuestionOption::schema()));
    }
}
