//! Questions of the agent as a form, for editors that have forms.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, ElicitationAction, ElicitationContentValue, ElicitationSchema, EnumOption,
    MultiSelectPropertySchema, StringPropertySchema,
};
use weir_host::Decision;
use weir_wire::{Question, QuestionAnswers};

use super::shown;

/// What the model is told if the person does not answer.
const DECLINED: &str = "The user declined to answer in the editor. Continue with what you know.";

/// The form: for each question a choice, and a line for another answer.
pub(crate) fn form(questions: &[Question]) -> ElicitationSchema {
    questions.iter().enumerate().fold(ElicitationSchema::new(), |form, (at, question)| {
        let options = question.options.iter().flatten().map(|option| {
            let described = option.description.as_deref().map(shown).filter(|text| !text.is_empty());
            EnumOption::new(option.label.clone(), shown(&option.label)).description(described)
        });
        let options: Vec<EnumOption> = options.collect();
        let text = shown(&question.question);
        let title = question.header.as_deref().map(shown).filter(|title| !title.is_empty());
        let title = title.unwrap_or_else(|| text.clone());
        let other = StringPropertySchema::new().title(format!("{title}: another answer"));
        let form = if options.is_empty() {
            form
        } else if question.multi_select.unwrap_or_default() {
            let field = MultiSelectPropertySchema::titled(options).title(title).description(text);
            form.property(choice(at), field, false)
        } else {
            let field = StringPropertySchema::new().one_of(options).title(title).description(text);
            form.property(choice(at), field, false)
        };
        form.property(another(at), other, false)
    })
}

/// What is asked, in a line.
pub(crate) fn message(questions: &[Question]) -> String {
    let all: Vec<String> = questions.iter().map(|question| shown(&question.question)).collect();
    all.join(" ")
}

fn choice(at: usize) -> String {
    format!("q{at}")
}

fn another(at: usize) -> String {
    format!("q{at}_other")
}

/// What the person's answer decides. Without an answer to a question the questions are declined, never answered empty.
pub(crate) fn decide(questions: &[Question], response: &CreateElicitationResponse) -> Decision {
    let ElicitationAction::Accept(accepted) = &response.action else { return Decision::deny(DECLINED) };
    let content = accepted.content.clone().unwrap_or_default();
    let mut answers = QuestionAnswers::new();
    for (at, question) in questions.iter().enumerate() {
        let Some(labels) = chosen(&content, at) else { return Decision::deny(DECLINED) };
        answers = answers.choose_all(&question.question, labels);
    }
    Decision::Answers(answers)
}

fn chosen(content: &BTreeMap<String, ElicitationContentValue>, at: usize) -> Option<Vec<String>> {
    let text = |value: &ElicitationContentValue| match value {
        ElicitationContentValue::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    };
    let written = content.get(&another(at)).and_then(text);
    let mut labels = match content.get(&choice(at)) {
        Some(ElicitationContentValue::StringArray(labels)) => labels.clone(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    };
    labels.extend(written);
    (!labels.is_empty()).then_some(labels)
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ElicitationAcceptAction;
    use serde_json::json;

    use super::*;

    fn questions() -> Vec<Question> {
        serde_json::from_value(json!([
            {"question": "Which?", "header": "Pick", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "What else?", "header": "More", "multiSelect": true, "options": [{"label": "X"}, {"label": "Y"}]},
        ]))
        .unwrap()
    }

    fn response(content: &[(&str, ElicitationContentValue)]) -> CreateElicitationResponse {
        let content = content.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let content: BTreeMap<String, ElicitationContentValue> = content.collect();
        CreateElicitationResponse::new(ElicitationAcceptAction::new().content(content))
    }

    #[test]
    fn a_form_has_a_choice_and_a_line_for_each_question() {
        let form = form(&questions());
        let names: Vec<&str> = form.properties.keys().map(String::as_str).collect();
        assert_eq!(names, ["q0", "q0_other", "q1", "q1_other"]);
    }

    #[test]
    fn answers_are_labels_or_what_was_written() {
        let both = response(&[("q0", "B".into()), ("q1", vec!["X", "Y"].into()), ("q1_other", "Z".into())]);
        let Decision::Answers(answers) = decide(&questions(), &both) else { panic!("no answers") };
        assert_eq!(answers.pairs().collect::<Vec<_>>(), [("Which?", "B"), ("What else?", "X, Y, Z")]);
    }

    #[test]
    fn nothing_is_answered_empty() {
        for incomplete in [
            response(&[]),
            response(&[("q0", "A".into())]),
            response(&[("q0", "A".into()), ("q1", " ".into())]),
        ] {
            assert_eq!(decide(&questions(), &incomplete), Decision::deny(DECLINED));
        }
        let declined = CreateElicitationResponse::new(ElicitationAction::Decline);
        assert_eq!(decide(&questions(), &declined), Decision::deny(DECLINED));
    }
}
