// Package script reads scripts of commands and expected replies, written so
// that reading one teaches the command. The tests run every script of testdata
// in memory, over TCP in RESP2 and RESP3, with a crash after every step, and
// against a real redis-server. It assumes nothing of the server but its
// protocol; it never decides what is right, the script does.
//
// # A script
//
//	# A line that starts with "# " is a comment.
//	> SET greeting "hello\r\n"
//	OK
//	> GET greeting
//	"hello\r\n"
//	> INCR greeting
//	-ERR value is not an integer or out of range
//
// A line that starts with "> " is a command, its arguments separated by spaces
// and quoted as redis-cli and the inline protocol do ("\n \r \t \b \a \\ \" \xHH",
// and 'single quotes'). A quoted string may be followed by *N: "x"*1000 is
// 1000 times x. The lines after it are its reply. Several commands in a row
// are sent as one pipeline and followed by as many replies, in order. Every
// command states its reply; blank lines mean nothing.
//
// # Replies
//
//	OK                  a simple string of one word; +two words  for more
//	-ERR some text      an error, to the end of the line
//	12                  an integer
//	90..100             an integer from 90 to 100
//	"text"              a bulk string, with the escapes above and *N
//	nil                 a null bulk string; nil[] a null array (both one null in RESP3)
//	["a" 1 ["b"] nil]   an array; it may go over several lines
//	{"a" 1 "b" 2}       a map: key value key value
//	~["a" "b"]          a set, in any order
//	any-order["a" "b"]  an array in any order
//	1.5d                a double
//	#t, #f              a boolean
//	txt:"text"          a verbatim string
//	push["a" 1]         a push
//	/regexp/            a simple or bulk string that matches as a whole; the dot
//	                    matches line ends too, \/ is a slash
//	txt:/regexp/        a verbatim string that does
//	-/regexp/           an error that does
//	-"ERR some text"    an error within an array
//	*                   anything but an error
//	...                 last in an array: any further elements
//	silence             the server sends nothing for this command
//
// Types are those of RESP3. Run in RESP2 the same line expects what Redis
// sends there: a map or a set is an array, a double or a verbatim string a
// bulk string, a boolean 1 or 0, a push an array. Where the protocols differ
// beyond that, a reply has two forms, each on a line of its own (or going on
// over several, as any array may):
//
//	2: nil
//	3: {}
//
// # Directives, one a line, before the step they concern
//
//	@local why          Hapax only: the script does not run on redis-server.
//	                    Before the first command.
//	@no-crash why       the script does not run with a crash after every step,
//	                    for session state that a new connection cannot have.
//	@log why            the script does not run with appendonly no
//	@alone why          the script does not run beside snapshots of the test
//	@skip-oracle why    the next step is not sent to redis-server
//	@since 7.2          the next step is not sent to a redis-server older than that
//	@resp 3             the script runs in this protocol only
//	@clock +1500        server time goes on by 1500 milliseconds. On redis-server
//	                    this is a sleep, so a script that is not @local may
//	                    advance by 100 ms a step at most.
//	@client b           the steps that follow come from connection b, opened
//	                    when first named; a script begins on connection main
//	@closed             the server closes the present connection (after QUIT);
//	                    naming it again opens a new one
//	@reopen             the server is killed and started again on the same files;
//	                    connections are opened anew. Needs @local.
//	@raw                the next line ("> " and one quoted string) is sent as it
//	                    is, byte for byte, and answered with one reply
//
// A new connection of a runner that kills the server gets the state that
// SELECT, HELLO and CLIENT SETNAME had set up on the one that was lost.
package script
