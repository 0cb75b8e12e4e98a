import { useEffect } from "react";
import { focusContent } from "../../app/focus-content.js";
import { Instead } from "../../parts/instead.js";
import { TokenForm } from "../../parts/token-form.js";

interface AccessProps {
  /** The server has no operator token. */
  hopeless: boolean;
  problem: string | undefined;
  onToken(token: string): void;
}

/** Explains who may see the view, and asks for the operator token. */
export function Access({ hopeless, problem, onToken }: AccessProps) {
  // The view replaces the form, and gets its focus.
  useEffect(
    () => () => {
      if (document.activeElement === document.body) focusContent();
    },
    [],
  );
  return (
    <Instead title="This view is for the operator">
      {hopeless ? (
        <p>
          It shows the sessions of other people. This server has no operator token: set{" "}
          <code>OPENENV_OPERATOR_TOKEN</code> where you start it, and paste the value here.
        </p>
      ) : (
        <>
          <p>
            It shows the sessions of other people. Paste the operator token of this server to open it. The token is
            stored in this tab only.
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
    </Instead>
  );
}
