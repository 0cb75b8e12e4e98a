import { type FormEvent, type ReactNode, useId, useRef } from "react";

interface TokenFormProps {
  /** What is asked for, like `Operator token`. */
  label: string;
  /** Why the last one was not taken. */
  problem: ReactNode;
  onToken(token: string): void;
}

/** Takes a token that is pasted into it. */
export function TokenForm({ label, problem, onToken }: TokenFormProps) {
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const open = (event: FormEvent): void => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token === "") field.current?.focus();
    else onToken(token);
  };
  return (
    <>
      <form className="with-btn access" onSubmit={open}>
        <input
          ref={field}
          className="input"
          type="password"
          aria-label={label}
          aria-invalid={problem ? true : undefined}
          aria-describedby={problem ? id : undefined}
          placeholder={label}
          autoComplete="off"
        />
        <button type="submit" className="btn btn--primary">
          Open
        </button>
      </form>
      {problem ? (
        <p className="err" id={id} role="alert">
          {problem}
        </p>
      ) : null}
    </>
  );
}
