import type { ReactNode } from "react";

interface BlockProps {
  title: string;
  badge?: ReactNode;
  hint?: string;
  /** Buttons at the right. */
  end?: ReactNode;
  children: ReactNode;
}

/** A part of a step. */
export function Block({ title, badge, hint, end, children }: BlockProps) {
  return (
    <section className="block">
      <div className="block__head">
        <h3>{title}</h3>
        {badge}
        {hint ? <span className="hint">{hint}</span> : null}
        {end ? <span className="end">{end}</span> : null}
      </div>
      {children}
    </section>
  );
}
