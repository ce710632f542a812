//! What sessions have cost.

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_base::time::now_ms;
use weir_host::{CostQuery, CostReport};

use super::answer;
use super::errors::session_id;
use super::types::{CostFormat, CostParams};
use crate::auth::Principal;
use crate::extract::Query;
use crate::problem::Problem;
use crate::state::App;

const DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What the sessions that the token may see have cost: one row for each day, session and model.
#[utoipa::path(get, path = "/v1/costs", tag = "history", params(CostParams), responses((status = 200, description = "The costs.",
    content((CostReport = "application/json"), (String = "text/csv")))))]
pub(crate) async fn costs(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<CostParams>,
) -> Result<Response, Problem> {
    let only = who.session.as_deref().map(session_id).transpose()?;
    let to = params.to.unwrap_or_else(|| now_ms().saturating_add(1));
    let from = params.from.unwrap_or_else(|| to.saturating_sub(DAYS * DAY_MS));
    let query = CostQuery { from, to, offset_minutes: params.offset_minutes };
    let report = app.host().costs(query, only).await?;
    if params.format != Some(CostFormat::Csv) {
        return Ok(answer::json(StatusCode::OK, &report));
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"costs.csv\""),
    ];
    Ok((headers, csv(&report)).into_response())
}

/// One line for each row, as RFC 4180 says.
fn csv(report: &CostReport) -> String {
    let mut text = "day,session,title,project,model,usd,input_tokens,output_tokens,cache_read_tokens,\
                    cache_creation_tokens\r\n"
        .to_owned();
    for row in &report.rows {
        let words =
            [&row.day, &row.session, row.title.as_deref().unwrap_or_default(), &row.project, &row.model];
        let numbers = [row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_creation_tokens];
        let words = words.map(|word: &str| field(word));
        text.push_str(&format!("{},{:.6}", words.join(","), row.usd));
        for number in numbers {
            text.push_str(&format!(",{number}"));
        }
        text.push_str("\r\n");
    }
    text
}

/// A text as a field. A spreadsheet must not take what an agent or a client has named for a formula.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quote = if is_formula { "'" } else { "" };
    format!("\"{quote}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_host::CostRow;

    #[test]
    fn a_title_is_no_formula_and_breaks_no_line() {
        let row = CostRow {
            day: "2026-01-31".into(),
            session: "s".into(),
            title: Some("=HYPERLINK(\"http://x\")\r\n,2".into()),
            model: "opus".into(),
            usd: 0.25,
            output_tokens: 7,
            ..CostRow::default()
        };
        let text = csv(&CostReport { usd: 0.25, rows: vec![row] });
        let rest = text.split_once("\r\n").unwrap().1;
        assert_eq!(
            rest,
            "\"2026-01-31\",\"s\",\"'=HYPERLINK(\"\"http://x\"\")\r\n,2\",\"\",\"opus\",0.250000,0,7,0,0\r\n"
        );
    }
}
