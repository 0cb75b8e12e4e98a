import { useEffect, useId } from "react";
import { focusContent } from "../../app/focus-content.js";
import { TokenForm } from "../../parts/token-form.js";

interface AccessProps {
  /** The server has no operator's token. */
  hopeless: boolean;
  problem: string | undefined;
  onToken(token: string): void;
}

/** Says who may see the view, and takes the operator's token. */
export function Access({ hopeless, problem, onToken }: AccessProps) {
  const id = useId();
  // What was asked for takes the place of the form, and the focus with it.
  useEffect(
    () => () => {
      if (document.activeElement === document.body) focusContent();
    },
    [],
  );
  return (
    <section className="card" aria-labelledby={`${id}h`}>
      <div className="empty">
        <h2 id={`${id}h`} className="empty__title">
          This view is for the operator
        </h2>
        {hopeless ? (
          <p>
            It shows the sessions of other people. This server has no operator token: set{" "}
            <code>OPENENV_OPERATOR_TOKEN</code> where you start it, and paste the value here.
          </p>
        ) : (
          <>
            <p>
              It shows the sessions of other people. Paste the operator token of this server to open it; it is kept in
              this tab only.
            </p>
            <TokenForm
              label="Operator token"
              problem={
                problem ? (
                  <>
                    {problem} It is the value of <code>OPENENV_OPERATOR_TOKEN</code> where the server was started.
                  </>
                ) : null
              }
              onToken={onToken}
            />
          </>
        )}
      </div>
    </section>
  );
}
