import { Notice } from "../../parts/notice.js";
import { count } from "../../parts/text/format.js";
import { useFetched } from "../../use-fetched.js";

/** What the page shows of a report of `openenv validate --output`: a file, so nothing in it is certain. */
interface Report {
  verdict: string;
  policy_version?: unknown;
  results: Partial<Result>[];
  unknown?: unknown;
}

interface Result {
  check_id: string;
  status: string;
  evidence: string[];
  remediation: string | null;
  not_applicable: boolean;
}

const ORDER = ["error", "fail", "unknown", "pass", "skip"];
const BADGES: Record<string, string> = {
  fail: "badge--bad",
  error: "badge--bad",
  unknown: "badge--wait",
  pass: "badge--ok",
};
const MAX_LINES = 5;

/** The report of the author's validation: failed checks first. */
export default function ReportCard() {
  const { value, problem } = useFetched<Report>("/web/report", 0);
  return (
    <section className="card" aria-labelledby="report-h">
      <header className="card__head">
        <h2 id="report-h">Validation</h2>
        {value ? <span className="muted">{summaryOf(value)}</span> : null}
      </header>
      {problem === undefined ? null : (
        <Notice tone="bad" title="The report could not be read.">
          {problem}
        </Notice>
      )}
      {value ? <Checks report={value} /> : null}
    </section>
  );
}

function Checks({ report }: { report: Report }) {
  const rows = report.results
    .filter(({ not_applicable }) => not_applicable !== true)
    .map((result) => ({ ...result, status: statusOf(result, report) }))
    .toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  return (
    <div
      className="table-wrap"
      tabIndex={0}
      role="region"
      aria-label={`${count(rows.length, "check")}, scrolls sideways`}
    >
      <table className="wrap fields">
        <thead>
          <tr>
            <th>Check</th>
            <th>Result</th>
            <th className="fields__text">Evidence</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ check_id, status, evidence = [], remediation }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a report may name a check twice, and never changes
            <tr key={at}>
              <td className="mono nowrap">{String(check_id)}</td>
              <td>
                <span className={`badge ${BADGES[status] ?? ""}`}>{status}</span>
              </td>
              <td>
                <bdi>{evidence.slice(0, MAX_LINES).join("; ")}</bdi>
                {remediation && status !== "pass" ? (
                  <p>
                    To fix: <bdi>{remediation}</bdi>
                  </p>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function statusOf({ check_id, status = "" }: Partial<Result>, { unknown }: Report): string {
  return Array.isArray(unknown) && unknown.includes(check_id) ? "unknown" : String(status);
}

function summaryOf({ verdict, policy_version, results }: Report): string {
  const passed = results.filter(({ status }) => status === "pass").length;
  const policy = typeof policy_version === "string" ? `, policy ${policy_version}` : "";
  return `${verdict}: ${passed} of ${count(results.length, "check")} passed${policy}`;
}
