-- An expression that finds a form of question, then the query with what it found. Written for this agent by hand.
-- each event of the kind (\w+) from (\S+) to (\S+), both
SELECT id, happened_at FROM events WHERE kind = '$1' AND substr(happened_at, 1, 10) BETWEEN '$2' AND '$3';
-- durations by users of the plan (\w+) that is at least (\d+)
SELECT kind, ROUND(AVG(duration), 1) FROM events JOIN users ON users.id = user_id WHERE plan = '$1' GROUP BY kind HAVING COUNT(duration) >= $2;
-- open invoice of at least (\d+) cents of users with the plan (\w+) or (\w+)
SELECT invoices.id, name, amount FROM invoices JOIN users ON users.id = user_id WHERE paid_on IS NULL AND amount >= $1 AND plan IN ('$2', '$3') ORDER BY amount DESC, invoices.id;
-- different users with an event of the kind (\w+) on (\S+) or later
SELECT plan, COUNT(*) FROM users WHERE id IN (SELECT user_id FROM events WHERE kind = '$1' AND happened_at >= '$2') GROUP BY plan;
-- sum of the open invoices that were due before (\S+),
SELECT name, (SELECT COALESCE(SUM(amount), 0) FROM invoices WHERE user_id = u.id AND paid_on IS NULL AND due_on < '$1') FROM users u;
-- never borrowed a book of the genre (\w+) from (\d+) or later
SELECT id, name FROM members WHERE id NOT IN (SELECT member_id FROM loans JOIN books ON books.id = book_id WHERE genre = '$1' AND year >= $2);
-- loans by members in (\w+) that is at least (\d+), return the genre and the percentage
SELECT genre, ROUND(100.0 * COUNT(returned_on) / COUNT(*), 1) FROM loans JOIN books ON books.id = book_id JOIN members ON members.id = member_id WHERE city = '$1' GROUP BY genre HAVING COUNT(*) >= $2;
-- newest books from (\d+) or later, at most (\d+) for each genre
SELECT genre, title, year FROM books b WHERE year >= $1 AND (SELECT COUNT(*) FROM books n WHERE n.genre = b.genre AND (n.year > b.year OR n.year = b.year AND n.id < b.id)) < $2 ORDER BY genre, year DESC, title;
-- the (\d+) loans of the genre (\w+) that are due last, the latest first
SELECT loans.id, title, due_on FROM loans JOIN books ON books.id = book_id WHERE genre = '$2' ORDER BY due_on DESC, loans.id LIMIT $1;
-- customer in (\w+) with orders that have the status (\w+) and at least one row in order_items
SELECT name, SUM(shipping) FROM customers c JOIN orders o ON c.id = customer_id WHERE city = '$1' AND status = '$2' AND o.id IN (SELECT order_id FROM order_items) GROUP BY c.id;
-- id up to (\d+) who referred no customer in (\w+)
SELECT id, name FROM customers c WHERE id <= $1 AND NOT EXISTS (SELECT 1 FROM customers r WHERE r.referred_by = c.id AND r.city = '$2');
-- revenue .* of the category (\w+), (highest|lowest) revenue first
SELECT city, SUM(quantity * price) AS revenue FROM order_items JOIN orders o ON o.id = order_id JOIN customers c ON c.id = customer_id JOIN products p ON p.id = product_id WHERE category = '$1' GROUP BY city ORDER BY CASE '$2' WHEN 'lowest' THEN revenue ELSE -revenue END, city;
-- average salary of those who still work here is above (\d+)
SELECT d.name, ROUND(AVG(salary), 2) FROM departments d JOIN employees ON d.id = department_id WHERE left_on IS NULL GROUP BY d.id HAVING AVG(salary) > $1;
-- everyone who still works here and earns at least (\d+)
SELECT e.name, d.name FROM employees e JOIN departments d ON d.id = department_id WHERE left_on IS NULL AND salary >= $1;
-- more than (\d+) thousand above the salary of their manager
SELECT e.name, m.name FROM employees e JOIN employees m ON m.id = e.manager_id WHERE e.salary - m.salary > $1;
-- number of reviews on (\S+) or later that have a score
SELECT name, (SELECT COUNT(score) FROM reviews JOIN employees e ON e.id = employee_id WHERE department_id = d.id AND reviewed_on >= '$1') FROM departments d;
-- salary of at least (\d+) and a review that has a score
SELECT name, (SELECT score FROM reviews WHERE employee_id = e.id AND score IS NOT NULL ORDER BY reviewed_on DESC, score DESC LIMIT 1) FROM employees e WHERE salary >= $1 AND id IN (SELECT employee_id FROM reviews WHERE score IS NOT NULL);
