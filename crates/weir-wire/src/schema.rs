//! OpenAPI schemas for the types whose schema is not derived.

use std::borrow::Cow;

use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::{
    DirectoriesUpdate, ModeUpdate, OwnedJson, OwnedText, PermissionUpdate, Question, QuestionOption,
    RulesUpdate,
};

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

impl PartialSchema for PermissionUpdate {
    fn schema() -> RefOr<Schema> {
        let kinds = [
            ("addRules", RulesUpdate::name()),
            ("replaceRules", RulesUpdate::name()),
            ("removeRules", RulesUpdate::name()),
            ("setMode", ModeUpdate::name()),
            ("addDirectories", DirectoriesUpdate::name()),
            ("removeDirectories", DirectoriesUpdate::name()),
        ];
        let known = kinds.into_iter().map(|(kind, update)| {
            let tag = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind]));
            let tagged = ObjectBuilder::new().property("type", tag).required("type");
            AllOfBuilder::new().item(Ref::from_schema_name(update)).item(tagged)
        });
        let other = text("Any other kind of update, which is shown as the CLI wrote it.");
        let other = ObjectBuilder::new().property("type", other);
        known
            .fold(AnyOfBuilder::new(), AnyOfBuilder::item)
            .item(other.additional_properties(Some(AdditionalProperties::FreeForm(true))))
            .description(Some("A change to what the CLI allows without asking, in the CLI's own JSON."))
            .into()
    }
}

impl ToSchema for PermissionUpdate {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((T::name().into_owned(), T::schema()));
            T::schemas(schemas);
        }
        add::<RulesUpdate>(schemas);
        add::<ModeUpdate>(schemas);
        add::<DirectoriesUpdate>(schemas);
    }
}
