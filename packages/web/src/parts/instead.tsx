import { type ReactNode, useId } from "react";

/** The only card of a page that cannot show its view: it says what is missing. */
export function Instead({ title, children }: { title: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <main className="page" id="main" tabIndex={-1}>
      <section className="card" aria-labelledby={id}>
        <div className="empty">
          <h2 id={id} className="empty__title">
            {title}
          </h2>
          {children}
        </div>
      </section>
    </main>
  );
}
