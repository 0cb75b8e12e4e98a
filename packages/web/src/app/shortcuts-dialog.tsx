import { useEffect, useRef, useState } from "react";
import { IconButton } from "../parts/icon-button.js";
import { isField, SHORTCUTS_EVENT, setSingleKeys, singleKeysOn } from "../views/play/shortcuts.js";

const SHORTCUTS: readonly (readonly [what: string, ...keys: string[]])[] = [
  ["Send the action", "↵"],
  ["New line in a text field", "Shift ↵"],
  ["Send from code and JSON fields", "Ctrl ↵"],
  ["Next step, previous step", "J", "K"],
  ["Next step, previous step, also in a field", "Alt ↓", "Alt ↑"],
  ["First step, last step", "G", "Shift G"],
  ["Reset", "R"],
  ["Reset with options", "Shift R"],
  ["Refresh state", "S"],
  ["Step, diff, raw", "1", "2", "3"],
  ["Diff with the previous step", "D"],
  ["Copy the selected step", "C"],
  ["Find a tool, or go to the first field", "/"],
  ["Leave a field, close a dialog", "Esc"],
  ["Export the timeline", "E"],
  ["Rollouts: find, open, mark for comparison, compare", "/", "↵", "X", "C"],
  ["Show this list", "?"],
];

/** The list of shortcuts; those without Ctrl or Alt can be switched off. */
export function ShortcutsDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [on, setOn] = useState(singleKeysOn);
  useEffect(() => {
    const show = (): void => dialog.current?.showModal();
    // Available in every view, like the button in the bar.
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || !singleKeysOn()) return;
      if (isField(event.target) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      show();
    };
    document.addEventListener(SHORTCUTS_EVENT, show);
    addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener(SHORTCUTS_EVENT, show);
      removeEventListener("keydown", onKey);
    };
  }, []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="shortcuts-h">
      <header className="card__head">
        <h2 id="shortcuts-h">Keyboard shortcuts</h2>
        <div className="end">
          <IconButton icon="close" label="Close" onClick={() => dialog.current?.close()} />
        </div>
      </header>
      <div className="pad">
        <dl className="shortcuts">
          {SHORTCUTS.map(([what, ...keys]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>
                {keys.map((key) => (
                  <kbd key={key} className="show">
                    {key}
                  </kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <label className="check dialog__switch">
          <input
            type="checkbox"
            checked={on}
            onChange={({ target }) => {
              setOn(target.checked);
              setSingleKeys(target.checked);
            }}
          />
          Single-key shortcuts
        </label>
      </div>
    </dialog>
  );
}
