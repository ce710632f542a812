//! Questions and forms for editors that have no forms: one request for permission after another, whose options are the
//! answers.

use agent_client_protocol::v1::schema::PermissionOptionKind;
use serde_json::{Value, json};
use weir_host::Decision;
use weir_transcript::RequestKind;
use weir_wire::{FieldKind, FormField, Question, QuestionAnswers};

use super::permission::Choice;
use super::shown;

/// One step: a title and its options. An option's decision is the final one if it denies; otherwise the answer is
/// [`Step::answer`] of the option's place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) choices: Vec<Choice>,
    answers: Vec<Answer>,
}

#[derive(Debug, Clone, PartialEq)]
struct Answer {
    key: String,
    value: Value,
}

/// What was chosen so far.
#[derive(Debug, Default)]
pub(crate) struct Given {
    answers: Vec<Answer>,
}

/// The steps of a request; none if it is not a question. One that cannot be answered by choosing can be declined, and is
/// shown: someone else may answer it.
pub(crate) fn steps(kind: &RequestKind) -> Option<Vec<Step>> {
    match kind {
        RequestKind::Question { questions, .. } => {
            let steps: Option<Vec<Step>> = questions.iter().map(of_question).collect();
            let texts = || questions.iter().map(|question| question.question.as_str()).collect::<Vec<_>>();
            Some(steps.unwrap_or_else(|| vec![only_declined(&texts().join(" "), skip())]))
        }
        RequestKind::Elicitation { message, form: Some(fields), .. } => {
            // What is not required may be left out.
            let asked = fields.iter().filter(|field| field.required || of_field(message, field).is_some());
            let steps: Option<Vec<Step>> = asked.map(|field| of_field(message, field)).collect();
            let labels = || fields.iter().map(|field| field.label.as_str()).collect::<Vec<_>>().join(", ");
            let title = || format!("{message} — {}", labels());
            Some(
                steps
                    .filter(|steps| !steps.is_empty() || fields.is_empty())
                    .unwrap_or_else(|| vec![only_declined(&title(), declined())]),
            )
        }
        RequestKind::Elicitation { message, url: Some(url), .. } => {
            let title = format!("{} — open {url}", shown(message));
            Some(vec![step(&title, vec![("Done".to_owned(), String::new(), Value::Null)], declined())])
        }
        _ => None,
    }
}

/// A step for what has to be typed.
fn only_declined(title: &str, skip: Decision) -> Step {
    step(
        &format!("{title} (to be typed: this editor has no forms; answer it elsewhere, or decline)"),
        Vec::new(),
        skip,
    )
}

fn skip() -> Decision {
    Decision::deny("The user declined to answer in the editor. Continue with what you know.")
}

fn of_question(question: &Question) -> Option<Step> {
    let options = question.options.as_ref().filter(|options| !options.is_empty())?;
    let options = options.iter().map(|option| {
        let name = match option.description.as_deref() {
            None | Some("") => option.label.clone(),
            Some(description) => format!("{}: {description}", option.label),
        };
        (name, question.question.clone(), Value::from(option.label.clone()))
    });
    Some(step(&question.question, options.collect(), skip()))
}

fn of_field(message: &str, field: &FormField) -> Option<Step> {
    let key = || field.name.clone();
    let options = match &field.kind {
        FieldKind::Boolean => {
            vec![("Yes".to_owned(), key(), Value::from(true)), ("No".to_owned(), key(), Value::from(false))]
        }
        FieldKind::Choice { options } if !options.is_empty() => {
            let options = options.iter();
            options.map(|option| (option.label.clone(), key(), Value::from(option.value.clone()))).collect()
        }
        // Text, numbers and several choices cannot be typed into a list of options.
        _ => return None,
    };
    Some(step(&format!("{message} — {}", field.label), options, declined()))
}

/// An MCP server is told that the person declined.
pub(crate) fn declined() -> Decision {
    Decision::Value(json!({"action": "decline"}))
}

fn step(title: &str, options: Vec<(String, String, Value)>, skip: Decision) -> Step {
    let (mut choices, mut answers) = (Vec::new(), Vec::new());
    for (at, (name, key, value)) in options.into_iter().enumerate() {
        let kind = PermissionOptionKind::AllowOnce;
        choices.push(Choice::new(&format!("answer_{at}"), shown(&name), kind, Decision::allow()));
        answers.push(Answer { key, value });
    }
    let kind = PermissionOptionKind::RejectOnce;
    choices.push(Choice::new("decline", "Decline to answer".to_owned(), kind, skip));
    Step { title: shown(title), choices, answers }
}

impl Step {
    /// Takes what was chosen; the final decision if it was to decline or none of the options.
    pub(crate) fn take(&self, decision: &Decision, option: &str, given: &mut Given) -> Option<Decision> {
        let place = option.strip_prefix("answer_").and_then(|place| place.parse::<usize>().ok());
        match place.and_then(|place| self.answers.get(place)) {
            Some(answer) => {
                given.answers.push(answer.clone());
                None
            }
            None => Some(decision.clone()),
        }
    }
}

impl Given {
    /// The decision once all steps were taken.
    pub(crate) fn decision(self, kind: &RequestKind) -> Decision {
        if matches!(kind, RequestKind::Question { .. }) {
            let pairs = self.answers.into_iter().filter_map(|answer| {
                let Value::String(label) = answer.value else { return None };
                Some((answer.key, label))
            });
            return Decision::Answers(pairs.collect::<QuestionAnswers>());
        }
        let named = self.answers.into_iter().filter(|answer| !answer.key.is_empty());
        let content: serde_json::Map<String, Value> =
            named.map(|answer| (answer.key, answer.value)).collect();
        if content.is_empty() {
            return Decision::Value(json!({"action": "accept"}));
        }
        Decision::Value(json!({"action": "accept", "content": content}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> RequestKind {
        let questions = json!([
            {"question": "Which?", "header": "Pick", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "When?", "header": "Time", "options": [{"label": "Now"}, {"label": "Later"}]},
        ]);
        let questions = serde_json::from_value(questions).unwrap();
        RequestKind::Question { questions, input: Value::Null }
    }

    #[test]
    fn questions_are_answered_one_after_another() {
        let kind = questions();
        let steps = steps(&kind).unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].choices[0].option.name, "A: first");
        let mut given = Given::default();
        assert_eq!(steps[0].take(&Decision::allow(), "answer_1", &mut given), None);
        assert_eq!(steps[1].take(&Decision::allow(), "answer_0", &mut given), None);
        let Decision::Answers(answers) = given.decision(&kind) else { panic!("no answers") };
        assert_eq!(answers.pairs().collect::<Vec<_>>(), [("Which?", "B"), ("When?", "Now")]);
    }

    #[test]
    fn what_is_no_option_declines() {
        let steps = steps(&questions()).unwrap();
        for other in ["decline", "answer_9", "answer_", "nonsense"] {
            let taken = steps[0].take(&Decision::deny("no"), other, &mut Given::default());
            assert_eq!(taken, Some(Decision::deny("no")), "{other}");
        }
    }

    #[test]
    fn a_form_with_text_cannot_be_answered_by_choosing() {
        let field = |kind| FormField {
            name: "a".into(),
            label: "A".into(),
            description: None,
            required: true,
            default: None,
            kind,
        };
        let form = |fields| RequestKind::Elicitation {
            server: "s".into(),
            message: "m".into(),
            url: None,
            form: Some(fields),
        };
        let text = FieldKind::Text { format: None, min_length: None, max_length: None };
        let names = |fields| -> Vec<String> {
            let steps = steps(&form(fields)).unwrap();
            steps.iter().flat_map(|step| &step.choices).map(|choice| choice.option.name.clone()).collect()
        };
        assert_eq!(names(vec![field(text.clone())]), ["Decline to answer"]);
        assert_eq!(names(vec![field(text.clone()), field(FieldKind::Boolean)]), ["Decline to answer"]);
        // A text that need not be there is left out.
        let optional = FormField { required: false, ..field(text) };
        assert_eq!(
            names(vec![optional.clone(), field(FieldKind::Boolean)]),
            ["Yes", "No", "Decline to answer"]
        );
        assert_eq!(names(vec![optional]), ["Decline to answer"]);
        let kind = form(vec![field(FieldKind::Boolean)]);
        let steps = steps(&kind).unwrap();
        let mut given = Given::default();
        assert_eq!(steps[0].take(&Decision::allow(), "answer_0", &mut given), None);
        assert_eq!(
            given.decision(&kind),
            Decision::Value(json!({"action": "accept", "content": {"a": true}}))
        );
    }
}
