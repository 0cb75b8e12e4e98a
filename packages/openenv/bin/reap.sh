# The first process of a container: runs a command, passes signals on to it, ends with its exit code, and reaps the processes
# that others leave behind, which Node.js as the first process does not. Where another process is the first, as with
# docker run --init, only the command runs.
[ $$ = 1 ] || exec "$@"
for signal in HUP INT QUIT TERM USR1 USR2; do trap "kill -$signal \$!" $signal; done
# A terminal sends these to the command itself: a second SIGINT would end it at once.
[ ! -t 0 ] || trap : INT QUIT
"$@" &
# A signal ends the wait and not the command.
until wait $!; code=$?; [ $code -le 128 ] || ! kill -0 $! 2>/dev/null; do :; done
exit $code
