import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.js";

interface NoticeProps {
  tone: "bad" | "wait" | "ok" | "info";
  title: ReactNode;
  /** What stays true and what to do. */
  children?: ReactNode;
  /** Buttons. */
  actions?: ReactNode;
  /** Across the page, under the episode bar. */
  bar?: boolean;
  icon?: IconName;
}

const ICONS: Record<NoticeProps["tone"], IconName> = { bad: "alert", wait: "clock", ok: "check", info: "alert" };

/** What happened, at the place where it happened. */
export function Notice({ tone, title, children, actions, bar = false, icon }: NoticeProps) {
  const look = tone === "info" ? "" : `note--${tone}`;
  return (
    <div className={`note ${look} ${bar ? "note--bar" : ""}`} role={tone === "bad" ? "alert" : "status"}>
      <Icon name={icon ?? ICONS[tone]} />
      <div className="grow">
        <b>{title}</b> <p>{children}</p>
        {actions && !bar ? <div className="acts">{actions}</div> : null}
      </div>
      {bar ? actions : null}
    </div>
  );
}
