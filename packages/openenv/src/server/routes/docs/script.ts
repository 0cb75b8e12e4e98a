/** Sends the requests of `/docs`. The answer is put into the page as text. */
export const DOCS_SCRIPT = `
const SESSION = "openenv-session";
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const answer = form.querySelector(".answer");
  const { method, path } = form.closest(".route").dataset;
  let address = path;
  const headers = { accept: "application/json" };
  for (const input of form.querySelectorAll("[data-in]")) {
    if (input.dataset.in === "path") address = address.replace("{" + input.name + "}", encodeURIComponent(input.value));
    else if (input.value !== "") headers[input.name] = input.value;
  }
  const { token, body } = form.elements;
  if (token && token.value !== "") headers.authorization = "Bearer " + token.value;
  if (body) headers["content-type"] = "application/json";
  const show = (title, text) => {
    const pre = document.createElement("pre");
    pre.tabIndex = 0;
    pre.textContent = text;
    const line = document.createElement("p");
    line.textContent = title;
    answer.replaceChildren(line, pre);
  };
  try {
    const response = await fetch("." + address, { method: method.toUpperCase(), headers, body: body && body.value });
    const text = await response.text();
    const session = response.headers.get(SESSION);
    if (session) for (const input of document.getElementsByName(SESSION)) input.value = session;
    show(response.status + " " + response.statusText, pretty(text));
  } catch (error) {
    show("No answer", String(error));
  }
});
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
`;
