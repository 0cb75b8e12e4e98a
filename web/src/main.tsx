import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { applyTheme } from "./theme.js";

applyTheme();
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
