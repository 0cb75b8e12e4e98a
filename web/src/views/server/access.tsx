import { type FormEvent, useEffect, useId, useRef } from "react";
import { focusContent } from "../../focus-content.js";

interface AccessProps {
  /** The server has no operator's token. */
  hopeless: boolean;
  problem: string | undefined;
  onToken(token: string): void;
}

/** Says who may see the view, and takes the operator's token. */
export function Access({ hopeless, problem, onToken }: AccessProps) {
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // What was asked for takes the place of the form, and the focus with it.
  useEffect(
    () => () => {
      if (document.activeElement === document.body) focusContent();
    },
    [],
  );
  const open = (event: FormEvent): void => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token === "") field.current?.focus();
    else onToken(token);
  };
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
            <form className="with-btn access" onSubmit={open}>
              <input
                ref={field}
                className="input"
                type="password"
                aria-label="Operator token"
                aria-invalid={problem ? true : undefined}
                aria-describedby={problem ? `${id}p` : undefined}
                placeholder="Operator token"
                autoComplete="off"
              />
              <button type="submit" className="btn btn--primary">
                Open
              </button>
            </form>
            {problem ? (
              <p className="err" id={`${id}p`} role="alert">
                {problem} It is the value of <code>OPENENV_OPERATOR_TOKEN</code> where the server was started.
              </p>
            ) : null}
          </>
        )}
      </div>
    </section>
  );
}
