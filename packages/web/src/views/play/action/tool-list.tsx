import type { PublishedTool, WebInfo } from "openenv-ts/protocol";
import { type KeyboardEvent, useState } from "react";
import { Button } from "../../../parts/button.js";
import { Icon } from "../../../parts/icon.js";
import { focusFirstField } from "./action-pane.js";
import type { ActionDraft } from "./use-draft.js";

/** Number of tools from which there is a search field. */
const SEARCH_FROM = 8;

interface ToolListProps {
  tools: readonly PublishedTool[];
  info: WebInfo;
  draft: ActionDraft;
  /** Loads the tools again. */
  again(): void;
}

interface Choice {
  /** Null for the environment's own action. */
  tool: string | null;
  name: string;
  description: string;
}

/** The tools, and the environment's own action if it has one. One tab stop; arrows select, Enter moves to the form. */
export function ToolList({ tools, info, draft, again }: ToolListProps) {
  const [search, setSearch] = useState("");
  const own: Choice[] = info.tools_only
    ? []
    : [{ tool: null, name: "action", description: "The action of this environment" }];
  const all: Choice[] = [...own, ...tools.map(({ name, description }) => ({ tool: name, name, description }))];
  const wanted = search.trim().toLowerCase();
  const choices = all.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
  const at = choices.findIndex(({ tool }) => tool === draft.tool);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") {
      event.preventDefault();
      return focusFirstField();
    }
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: choices.length - 1 }[event.key];
    const choice = to === undefined ? undefined : choices[Math.max(0, Math.min(to, choices.length - 1))];
    if (!choice) return;
    event.preventDefault();
    draft.setTool(choice.tool);
    document.getElementById(idOf(choice))?.scrollIntoView({ block: "nearest" });
  };
  return (
    <section className="pane pane--tools" aria-labelledby="tools-h">
      <header className="pane__head">
        <h2 id="tools-h">Tools</h2>
        <span className="hint">{tools.length}</span>
        <span className="grow" />
        <Button look="ghost sm" onClick={again}>
          List again
        </Button>
      </header>
      {tools.length >= SEARCH_FROM ? (
        <div className="find">
          <div className="with-icon">
            <Icon name="search" />
            <input
              className="input"
              type="search"
              id="find-tool"
              placeholder="Find a tool"
              aria-label="Find a tool"
              value={search}
              onChange={({ target }) => setSearch(target.value)}
              onKeyDown={onKeyDown}
            />
            <kbd>/</kbd>
          </div>
        </div>
      ) : null}
      <div className="scroll">
        <ul
          className="tools"
          role="listbox"
          aria-label="Tools"
          tabIndex={0}
          aria-activedescendant={choices[at] ? idOf(choices[at]) : undefined}
          onKeyDown={onKeyDown}
        >
          {choices.map((choice) => (
            <li
              key={idOf(choice)}
              id={idOf(choice)}
              role="option"
              aria-selected={choice.tool === draft.tool}
              onClick={() => draft.setTool(choice.tool)}
            >
              <span className="mono">{choice.name}</span>
              <span className="d clip">{choice.description}</span>
            </li>
          ))}
        </ul>
        {choices.length === 0 ? (
          <p className="hint pad">
            No tool matches “<bdi>{search}</bdi>”.
          </p>
        ) : null}
      </div>
    </section>
  );
}

function idOf({ tool }: Choice): string {
  return `tool-${tool ?? ""}`;
}
